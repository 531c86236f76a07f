//! What else stands above the function: honoured, passed on, or refused in words.

use proc_macro2::Span;
use syn::{Attribute, Error, Expr, ExprLit, Lit, LitStr, Meta, Result, spanned::Spanned};

/// The attributes that mean something to a test, and those that stay with the function.
#[derive(Default)]
pub struct Attributes {
    /// `#[ignore]` or `#[ignore = "why"]`.
    pub ignore: Option<Ignore>,
    /// `#[should_panic]`, with the text that the panic's message must contain.
    pub should_panic: Option<ShouldPanic>,
    /// All others, in order: doc comments, lint levels, other macros.
    pub others: Vec<Attribute>,
}

/// `#[ignore]`.
pub struct Ignore {
    /// The reason, if one is given.
    pub reason: Option<LitStr>,
}

/// `#[should_panic]`.
pub struct ShouldPanic {
    /// Where it stands.
    pub span: Span,
    /// What the panic's message must contain.
    pub expected: Option<LitStr>,
}

/// Whether the compiler has yet to decide about some of them. Until it has, what they guard is
/// unknown: a `cfg_attr` may hold an `ignore`.
pub fn undecided(attributes: &[Attribute]) -> bool {
    attributes
        .iter()
        .any(|attribute| attribute.path().is_ident("cfg") || attribute.path().is_ident("cfg_attr"))
}

impl Attributes {
    /// Sorts the attributes of a function.
    pub fn sort(attributes: Vec<Attribute>) -> Result<Attributes> {
        let mut sorted = Attributes::default();
        for attribute in attributes {
            let path = attribute.path();
            if path.is_ident("ignore") {
                let reason = ignore_reason(&attribute.meta)?;
                once(&attribute, sorted.ignore.replace(Ignore { reason }))?;
            } else if path.is_ident("should_panic") {
                let expected = expected_panic(&attribute.meta)?;
                let span = attribute.span();
                let panics = ShouldPanic { span, expected };
                once(&attribute, sorted.should_panic.replace(panics))?;
            } else if is_another_test(&attribute) {
                return Err(Error::new(
                    attribute.span(),
                    "#[boltwright::test] already makes this a test: remove this attribute; \
                     or keep it, remove #[boltwright::test], and make the lab by `Lab::new()`",
                ));
            } else {
                sorted.others.push(attribute);
            }
        }
        Ok(sorted)
    }
}

/// Whether this attribute would make a test of its own: `test`, `tokio::test`, `rstest`, `bench`…
fn is_another_test(attribute: &Attribute) -> bool {
    attribute
        .path()
        .segments
        .last()
        .is_some_and(|last| last.ident == "test" || last.ident == "rstest" || last.ident == "bench")
}

fn once<T>(attribute: &Attribute, earlier: Option<T>) -> Result<()> {
    match earlier {
        None => Ok(()),
        Some(_) => Err(Error::new(
            attribute.span(),
            "this attribute is given twice",
        )),
    }
}

fn ignore_reason(meta: &Meta) -> Result<Option<LitStr>> {
    match meta {
        Meta::Path(_) => Ok(None),
        Meta::NameValue(pair) => text(&pair.value)
            .map(Some)
            .ok_or_else(|| Error::new(pair.value.span(), "write #[ignore = \"why\"]")),
        Meta::List(_) => Err(Error::new(
            meta.span(),
            "write #[ignore] or #[ignore = \"why\"]",
        )),
    }
}

fn expected_panic(meta: &Meta) -> Result<Option<LitStr>> {
    const FORM: &str =
        "write #[should_panic] or #[should_panic(expected = \"part of the message\")]";
    match meta {
        Meta::Path(_) => Ok(None),
        Meta::NameValue(pair) => text(&pair.value)
            .map(Some)
            .ok_or_else(|| Error::new(pair.value.span(), FORM)),
        Meta::List(list) => {
            let mut expected = None;
            list.parse_nested_meta(|nested| {
                if !nested.path.is_ident("expected") {
                    return Err(nested.error(FORM));
                }
                expected = Some(nested.value()?.parse()?);
                Ok(())
            })
            .map_err(|error| Error::new(error.span(), FORM))?;
            match expected {
                Some(text) => Ok(Some(text)),
                None => Err(Error::new(meta.span(), FORM)),
            }
        }
    }
}

fn text(value: &Expr) -> Option<LitStr> {
    match value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) => Some(text.clone()),
        _ => None,
    }
}
