//! One attribute with its function, read and checked.

use crate::{
    arguments::Arguments,
    attributes::Attributes,
    signature::{Errors, Parameters, returns_nothing},
};
use syn::{Error, ItemFn, Result};

/// A test as its author wrote it.
pub struct Case {
    /// What stands in the attribute's parentheses.
    pub arguments: Arguments,
    /// The function's other attributes, taken off it.
    pub attributes: Attributes,
    /// The parameters' types.
    pub parameters: Parameters,
    /// The function, without attributes.
    pub function: ItemFn,
}

impl Case {
    /// Reads and checks one.
    pub fn read(arguments: Arguments, mut function: ItemFn) -> Result<Case> {
        let mut errors = Errors::default();
        let attributes = errors.take(Attributes::sort(std::mem::take(&mut function.attrs)));
        let parameters = errors.take(Parameters::check(&function.sig, &arguments));
        let panics = attributes.as_ref().and_then(|a| a.should_panic.as_ref());
        if let Some(panics) = panics
            && !returns_nothing(&function.sig)
        {
            errors.add(Error::new(
                panics.span,
                "a test that should panic returns nothing: if it should return an error, check \
                 the error in the test",
            ));
        }
        let both = attributes.zip(parameters);
        errors.end(both).map(|(attributes, parameters)| Case {
            arguments,
            attributes,
            parameters,
            function,
        })
    }
}
