//! The function's shape: what the attribute's arguments ask of it, no less and no more.

use crate::arguments::Arguments;
use syn::{Error, FnArg, Result, ReturnType, Signature, Type, spanned::Spanned};

/// The parameters' types, each with its place: errors of type are told there.
pub struct Parameters {
    /// `&Lab`.
    pub lab: Type,
    /// `Kind` or `[Kind; N]`.
    pub nodes: Option<Type>,
    /// The type of one of the values.
    pub each: Option<Type>,
}

impl Parameters {
    /// Checks the whole signature; all that is wrong with it is told at once.
    pub fn check(signature: &Signature, arguments: &Arguments) -> Result<Parameters> {
        let mut errors = Errors::default();
        refuse_qualifiers(signature, &mut errors);
        let parameters = parameters(signature, arguments, &mut errors);
        errors.end(parameters)
    }
}

/// Whether the function is written without a return type, or with `()`.
pub fn returns_nothing(signature: &Signature) -> bool {
    match &signature.output {
        ReturnType::Default => true,
        ReturnType::Type(_, returned) => {
            matches!(&**returned, Type::Tuple(tuple) if tuple.elems.is_empty())
        }
    }
}

fn refuse_qualifiers(signature: &Signature, errors: &mut Errors) {
    if let Some(word) = &signature.asyncness {
        errors.add(Error::new(
            word.span(),
            "a Boltwright test is a straight line and cannot be async: remove `async` (calls on \
             nodes block, and threads run things side by side), or write a plain #[tokio::test] \
             without this attribute and make the lab in it by `Lab::new()`",
        ));
    }
    if let Some(word) = &signature.constness {
        errors.add(Error::new(word.span(), "a test cannot be const"));
    }
    if let Some(word) = &signature.unsafety {
        errors.add(Error::new(
            word.span(),
            "a test cannot be unsafe: put the unsafe block inside",
        ));
    }
    if let Some(abi) = &signature.abi {
        errors.add(Error::new(abi.span(), "a test has no ABI of its own"));
    }
    if !signature.generics.params.is_empty() {
        errors.add(Error::new(
            signature.generics.span(),
            "a test cannot be generic, nobody could say for which type it runs: for many values \
             use `each = [...]`, for many implementations `nodes = every`",
        ));
    } else if let Some(clause) = &signature.generics.where_clause {
        errors.add(Error::new(
            clause.span(),
            "a test cannot be generic, so it needs no where clause",
        ));
    }
    if let Some(dots) = &signature.variadic {
        errors.add(Error::new(dots.span(), "a test cannot be variadic"));
    }
}

fn parameters(
    signature: &Signature,
    arguments: &Arguments,
    errors: &mut Errors,
) -> Option<Parameters> {
    let form = right_form(signature, arguments);
    let mut types = Vec::new();
    for input in &signature.inputs {
        match input {
            FnArg::Typed(typed) => types.push((*typed.ty).clone()),
            FnArg::Receiver(receiver) => {
                errors.add(Error::new(
                    receiver.span(),
                    format!("a test is a free function, not a method: write `{form}`"),
                ));
                return None;
            }
        }
    }
    let mut types = types.into_iter();

    let Some(lab) = types.next() else {
        errors.add(Error::new(
            signature.paren_token.span.join(),
            format!("a test takes its lab: write `{form}`"),
        ));
        return None;
    };
    check_lab(&lab, errors);

    let nodes = arguments.nodes.as_ref().and_then(|nodes| {
        types.next().or_else(|| {
            errors.add(Error::new(
                nodes.word.span(),
                format!(
                    "`nodes = {}` gives each trial its implementations, and `{}` does not take \
                     them: write `{form}`",
                    nodes.word, signature.ident
                ),
            ));
            None
        })
    });
    let each = arguments.each.as_ref().and_then(|each| {
        types.next().or_else(|| {
            errors.add(Error::new(
                each.word.span(),
                format!(
                    "`each` gives each trial one value, and `{}` does not take it: write `{form}`",
                    signature.ident
                ),
            ));
            None
        })
    });
    for surplus in types {
        errors.add(Error::new(
            surplus.span(),
            format!(
                "nothing gives this parameter a value: write `{form}`, or add \
                 `each = [...]` for values or `nodes = every` for implementations to the attribute"
            ),
        ));
    }
    Some(Parameters { lab, nodes, each })
}

fn check_lab(lab: &Type, errors: &mut Errors) {
    match lab {
        Type::Reference(reference) => {
            if let Some(word) = &reference.mutability {
                errors.add(Error::new(
                    word.span(),
                    "the lab is shared with its checks: take it as `&Lab`",
                ));
            }
        }
        Type::Path(path) if path.path.segments.last().is_some_and(|s| s.ident == "Lab") => {
            errors.add(Error::new(
                lab.span(),
                "the lab is lent, so that its end checks can run after the test: take it as `&Lab`",
            ));
        }
        other => errors.add(Error::new(
            other.span(),
            "a test's first parameter is its lab: `lab: &Lab`",
        )),
    }
}

/// The signature that these arguments ask for, as a person would write it.
fn right_form(signature: &Signature, arguments: &Arguments) -> String {
    let mut form = format!("fn {}(lab: &Lab", signature.ident);
    if let Some(nodes) = &arguments.nodes {
        form += ", ";
        form += nodes.arrangement.parameter();
    }
    if arguments.each.is_some() {
        form += ", value: T";
    }
    form + ")"
}

/// Errors collected so that all are told at once.
#[derive(Default)]
pub struct Errors(Option<Error>);

impl Errors {
    /// Adds one.
    pub fn add(&mut self, error: Error) {
        match &mut self.0 {
            Some(first) => first.combine(error),
            None => self.0 = Some(error),
        }
    }

    /// Adds that of a result, or hands out its value.
    pub fn take<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|error| self.add(error)).ok()
    }

    /// `value`, unless there was an error.
    pub fn end<T>(self, value: Option<T>) -> Result<T> {
        match (self.0, value) {
            (Some(error), _) => Err(error),
            (None, Some(value)) => Ok(value),
            (None, None) => Err(Error::new(
                proc_macro2::Span::call_site(),
                "internal error of boltwright-macros: something is missing and nobody said what",
            )),
        }
    }
}
