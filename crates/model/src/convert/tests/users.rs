//! Users' own conversions and callbacks.

use super::*;
use crate::Kind;
use std::sync::Arc;

fn constant(value: u8) -> Convert {
    Arc::new(move |_: &[u8], to: &mut [u8], _| {
        to.fill(value);
        Ok(())
    })
}

fn run(conversions: &Conversions, from: &Datatype, to: &Datatype, input: &[u8]) -> Result<Vec<u8>> {
    let plan = Plan::compile(from, to, conversions)?;
    let count = input.len() / plan.from_bytes();
    let mut output = vec![0; count * plan.to_bytes()];
    plan.run(input, &mut output, count, &mut Heap::new())?;
    Ok(output)
}

#[test]
fn plans_are_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Plan>();
    shared::<Conversions>();
}

#[test]
fn a_hard_conversion_comes_before_a_soft_one_and_before_ours() {
    let (from, to) = (Datatype::native_int(1), Datatype::native_int(2));
    let mut conversions = Conversions::default();
    conversions.register_hard("seven", from.clone(), to.clone(), constant(7));
    conversions.register_soft("nine", Arc::new(|from, _| (from.class() == 0).then(|| constant(9))));
    assert_eq!(run(&conversions, &from, &to, &[1]).unwrap(), [7, 7]);
    assert!(conversions.unregister("seven") && !conversions.unregister("seven"));
    assert_eq!(run(&conversions, &from, &to, &[1]).unwrap(), [9, 9]);
    conversions.unregister("nine");
    assert_eq!(run(&conversions, &from, &to, &[1]).unwrap(), 1i16.to_ne_bytes());
}

#[test]
fn a_user_converts_what_we_refuse_inside_an_array() {
    let (from, to) =
        (Datatype::native_int(1), Datatype::fixed_string(2, Default::default(), CharacterSet::Ascii));
    let (from, to) = (Datatype::array(&[2], from), Datatype::array(&[2], to));
    assert_eq!(run(&Conversions::default(), &from, &to, &[1, 2]).unwrap_err().kind(), Kind::Conversion);
    let mut conversions = Conversions::default();
    conversions
        .register_soft("text", Arc::new(|a, b| (a.class() == 0 && b.class() == 3).then(|| constant(b'x'))));
    assert_eq!(run(&conversions, &from, &to, &[1, 2]).unwrap(), b"xxxx");
}

#[test]
fn a_callback_sees_what_does_not_fit() {
    let (from, to) = (Datatype::ieee_f64(crate::ByteOrder::NATIVE), Datatype::native_uint(1));
    let input: Vec<u8> =
        [1.0, 1.5, 300.0, -1.0, f64::NAN, f64::INFINITY].iter().flat_map(|n| n.to_ne_bytes()).collect();
    let mut conversions = Conversions::default();
    conversions.on_exception(Some(Arc::new(|exception, _, to| match exception {
        Exception::RangeHigh => {
            to.fill(42);
            Handling::Handled
        }
        Exception::NotANumber => {
            to.fill(13);
            Handling::Default
        }
        _ => Handling::Default,
    })));
    assert_eq!(run(&conversions, &from, &to, &input).unwrap(), [1, 1, 42, 0, 0, 255]);
    conversions.on_exception(Some(Arc::new(|e, _, _| {
        if e == Exception::Truncate { Handling::Abort } else { Handling::Default }
    })));
    assert_eq!(run(&conversions, &from, &to, &input).unwrap_err().kind(), Kind::Conversion);
}

#[test]
fn a_callback_learns_the_types() {
    let (from, to) = (Datatype::native_int(4), Datatype::native_uint(1));
    let mut conversions = Conversions::default();
    conversions.on_exception_of_types(Arc::new(|from, to| {
        let bytes = (from.size() * 10 + to.size()) as u8;
        Arc::new(move |_, _, target| {
            target.fill(bytes);
            Handling::Handled
        })
    }));
    assert_eq!(run(&conversions, &from, &to, &300i32.to_ne_bytes()).unwrap(), [41]);
}

#[test]
fn buffers_that_are_too_short_are_refused() {
    let plan =
        Plan::compile(&Datatype::native_int(4), &Datatype::native_int(8), &Conversions::default()).unwrap();
    let run = |from: &[u8], to: &mut [u8], count| plan.run(from, to, count, &mut Heap::new());
    assert!(run(&[0; 8], &mut [0; 16], 2).is_ok());
    assert!(run(&[0; 7], &mut [0; 16], 2).is_err());
    assert!(run(&[0; 8], &mut [0; 15], 2).is_err());
    assert!(run(&[0; 8], &mut [0; 16], usize::MAX / 2).is_err());
    assert!(run(&[], &mut [], 0).is_ok());
}
