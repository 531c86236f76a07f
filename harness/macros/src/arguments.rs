//! What stands in the attribute's parentheses: `nodes = every_pair, each = [1, 2]`.

use syn::{
    Error, Expr, Ident, Result, Token,
    parse::{Parse, ParseStream},
};

/// The attribute's arguments.
#[derive(Default)]
pub struct Arguments {
    /// `nodes = …`.
    pub nodes: Option<Nodes>,
    /// `among = EXPR`: the implementations to arrange, in place of all that are known.
    pub among: Option<Expr>,
    /// `each = EXPR`: the values, one trial each.
    pub each: Option<Each>,
}

/// `nodes = every_pair`, with the place where it says so.
pub struct Nodes {
    /// The word after the equals sign.
    pub word: Ident,
    /// What it means.
    pub arrangement: Arrangement,
}

/// `each = EXPR`, with the place where it says so.
pub struct Each {
    /// The word `each`.
    pub word: Ident,
    /// The values.
    pub values: Expr,
}

/// How the implementations are arranged into cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrangement {
    /// One at a time.
    Every,
    /// Every ordered pair, one with itself included.
    EveryPair,
    /// Every ordered triple.
    EveryTriple,
}

const KNOWN: &str = "known are `nodes = every` (or every_pair, every_triple), `among = KINDS` \
                     and `each = VALUES`";

impl Parse for Arguments {
    fn parse(input: ParseStream) -> Result<Arguments> {
        let mut arguments = Arguments::default();
        let mut among_at = None;
        while !input.is_empty() {
            let word: Ident = input
                .parse()
                .map_err(|error| Error::new(error.span(), format!("not an argument: {KNOWN}")))?;
            let name = word.to_string();
            if !["nodes", "among", "each"].contains(&name.as_str()) {
                return Err(Error::new(
                    word.span(),
                    format!("unknown argument `{name}`: {KNOWN}"),
                ));
            }
            if !input.peek(Token![=]) {
                return Err(Error::new(
                    word.span(),
                    format!("`{name}` needs a value: {KNOWN}"),
                ));
            }
            input.parse::<Token![=]>()?;
            let again = match name.as_str() {
                "nodes" => arguments.nodes.replace(input.parse()?).is_some(),
                "among" => {
                    among_at = Some(word.clone());
                    arguments.among.replace(input.parse()?).is_some()
                }
                _ => {
                    let word = word.clone();
                    let values = input.parse()?;
                    arguments.each.replace(Each { word, values }).is_some()
                }
            };
            if again {
                return Err(Error::new(
                    word.span(),
                    format!("`{name}` is given twice; one function has one matrix"),
                ));
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        if let (Some(word), None) = (among_at, &arguments.nodes) {
            return Err(Error::new(
                word.span(),
                "`among` says which implementations `nodes` arranges: add `nodes = every`, \
                 `every_pair` or `every_triple`",
            ));
        }
        Ok(arguments)
    }
}

impl Parse for Nodes {
    fn parse(input: ParseStream) -> Result<Nodes> {
        const WORDS: &str = "`nodes` is one of every, every_pair, every_triple";
        let word: Ident = input
            .parse()
            .map_err(|error| Error::new(error.span(), WORDS))?;
        let arrangement = match word.to_string().as_str() {
            "every" => Arrangement::Every,
            "every_pair" => Arrangement::EveryPair,
            "every_triple" => Arrangement::EveryTriple,
            _ => return Err(Error::new(word.span(), WORDS)),
        };
        Ok(Nodes { word, arrangement })
    }
}

impl Arrangement {
    /// The parameter that takes one cell of it, as a person would write it.
    pub fn parameter(self) -> &'static str {
        match self {
            Arrangement::Every => "kind: Kind",
            Arrangement::EveryPair => "[payer, payee]: [Kind; 2]",
            Arrangement::EveryTriple => "[payer, hop, payee]: [Kind; 3]",
        }
    }
}
