//! Objects of S3 with settings that a program gives, instead of those of the environment.

use std::fmt;
use std::io;

use files::{Created, Driver, DriverInfo, Handle, Mode, Target};

use super::{S3, S3Driver, Settings, StoredObject, create, delete, object_with, open};
use crate::options::Options;

/// The credentials of an S3 client.
#[derive(Clone)]
pub struct S3Credentials {
    /// `AWS_ACCESS_KEY_ID`.
    pub access_key_id: String,
    /// `AWS_SECRET_ACCESS_KEY`.
    pub secret_access_key: String,
    /// `AWS_SESSION_TOKEN`.
    pub session_token: Option<String>,
}

impl fmt::Debug for S3Credentials {
    /// Credentials are never printed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// The settings of an S3 client. What is `None` comes from the environment.
#[derive(Debug, Clone, Default)]
pub struct S3Settings {
    /// The region of the bucket.
    pub region: Option<String>,
    /// The address of a server with the interface of S3.
    pub endpoint: Option<String>,
    /// The credentials.
    pub credentials: Option<S3Credentials>,
}

/// The driver of S3 with settings of a program, under a name of its own.
#[derive(Debug, Clone)]
pub struct ConfiguredS3Driver {
    settings: S3Settings,
}

impl ConfiguredS3Driver {
    /// The name that it is registered under.
    pub const NAME: &'static str = "configured_s3";

    /// Returns the driver with these settings.
    pub fn new(settings: S3Settings) -> Self {
        ConfiguredS3Driver { settings }
    }

    fn object(&self, target: &Target<'_>) -> io::Result<StoredObject> {
        target.parameters.only(&self.info())?;
        let S3Settings { region, endpoint, credentials } = self.settings.clone();
        object_with::<S3>(target, Settings { region, endpoint, credentials, ..Settings::default() })
    }
}

impl Driver for ConfiguredS3Driver {
    fn info(&self) -> DriverInfo {
        DriverInfo { name: Self::NAME, aliases: &[], ..S3Driver.info() }
    }

    fn check_create(&self, target: &Target<'_>) -> io::Result<()> {
        self.object(target).map(drop)
    }

    fn create(&self, target: &Target<'_>, may_exist: bool) -> io::Result<Created> {
        create(self.object(target)?, may_exist)
    }

    fn open(&self, target: &Target<'_>, mode: Mode) -> io::Result<Handle> {
        open(self.object(target)?, &Options::of(target.parameters)?, mode)
    }

    fn delete(&self, target: &Target<'_>) -> io::Result<()> {
        delete(self.object(target)?)
    }
}
