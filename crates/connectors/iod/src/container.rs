//! A container as others see it.

use crate::identity;
use crate::opening::Opening;
use crate::shared::Shared;

keyed::container!(IodContainer, opening: Opening, shared: Shared, identity: identity::object);
