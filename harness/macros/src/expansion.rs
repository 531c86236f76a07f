//! What the compiler is given in place of the function.
//!
//! ```text
//! const _: () = {
//!     fn pays(lab: &Lab, …) -> Result { … }         // as it was written
//!     inventory::submit! { Case { … } }             // for boltwright::main!()
//! };
//! #[::core::prelude::v1::test]
//! fn pays() -> Concluded { … }                      // for libtest; stripped without --test
//! ```
//!
//! The standard `#[test]` (by its full path, since a plain `test` may be ours, imported) stands at
//! the module's level, where libtest looks for tests and takes the name from; it finds its case
//! among the registered ones. The function itself is hidden in an unnamed constant, so both can
//! have the one name that the author chose, and neither is ever unused.

use crate::{arguments::Arguments, arguments::Arrangement, attributes, case::Case};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Expr, ItemFn, ReturnType, ext::IdentExt, parse2, spanned::Spanned};

/// Expands one attribute; mistakes become compile errors.
pub fn test(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let function = match parse2::<ItemFn>(item) {
        Ok(function) => function,
        Err(error) => {
            return syn::Error::new(
                error.span(),
                format!(
                    "#[boltwright::test] stands above a function `fn name(lab: &Lab)`: {error}"
                ),
            )
            .into_compile_error();
        }
    };
    if attributes::undecided(&function.attrs) {
        return wait_for_cfg(&arguments, function);
    }
    parse2::<Arguments>(arguments)
        .and_then(|arguments| Case::read(arguments, function))
        .map_or_else(syn::Error::into_compile_error, |case| write(&case))
}

/// Puts the attribute below all others, so that the compiler decides about each `cfg` and
/// `cfg_attr` and takes it away before the attribute is expanded again.
fn wait_for_cfg(arguments: &TokenStream, mut function: ItemFn) -> TokenStream {
    let others = std::mem::take(&mut function.attrs);
    quote! {
        #(#others)*
        #[::boltwright::test(#arguments)]
        #function
    }
}

fn write(case: &Case) -> TokenStream {
    let Case {
        attributes,
        function,
        ..
    } = case;
    let others = &attributes.others;
    let name = &function.sig.ident;
    let name_text = name.unraw().to_string();
    let libtest_ignore = attributes
        .ignore
        .as_ref()
        .map(|ignore| match &ignore.reason {
            Some(reason) => quote!(#[ignore = #reason]),
            None => quote!(#[ignore]),
        });
    let ignore = match &attributes.ignore {
        Some(ignore) => match &ignore.reason {
            Some(reason) => quote!(::core::option::Option::Some(#reason)),
            None => quote!(::core::option::Option::Some("")),
        },
        None => quote!(::core::option::Option::None),
    };
    let should_panic = match &attributes.should_panic {
        Some(panics) => {
            let expected = panics
                .expected
                .as_ref()
                .map_or_else(|| quote!(""), |expected| quote!(#expected));
            quote!(::core::option::Option::Some(#expected))
        }
        None => quote!(::core::option::Option::None),
    };
    let cells = cells(case);
    quote! {
        const _: () = {
            #(#others)*
            #function

            ::boltwright::__private::inventory::submit! {
                ::boltwright::__private::Case {
                    module: ::core::module_path!(),
                    name: #name_text,
                    ignore: #ignore,
                    should_panic: #should_panic,
                    cells: #cells,
                }
            }
        };

        #[::core::prelude::v1::test]
        #libtest_ignore
        fn #name() -> ::boltwright::__private::Concluded {
            ::boltwright::__private::libtest(::core::module_path!(), #name_text)
        }
    }
}

/// The closure that lists the case's cells, each with its name and its way to call the function.
///
/// Its own variables are invisible to the author's expressions (mixed-site hygiene), and what it
/// passes for a parameter stands where that parameter's type does: a mismatch is told there.
fn cells(case: &Case) -> TokenStream {
    let cells = hidden("cells", Span::call_site());
    let nodes = hidden("nodes", Span::call_site());
    let value = hidden("value", Span::call_site());
    let label = hidden("label", Span::call_site());
    let lab = hidden("lab", Span::call_site());
    let call = call(case);

    let kinds = match case.arguments.nodes {
        Some(_) => quote!(&#nodes),
        None => quote!(&[]),
    };
    let labels = match case.arguments.each {
        Some(_) => quote!(::core::option::Option::Some(#label)),
        None => quote!(::core::option::Option::None),
    };
    let mut add = quote! {
        #cells.add(#kinds, #labels, move |#lab: &::boltwright::lab::Lab| #call);
    };
    if let Some(each) = &case.arguments.each {
        let values = &each.values;
        let place = at(values.span());
        let iterate = quote_spanned!(place=> ::core::iter::IntoIterator::into_iter);
        let label_of = quote_spanned!(place=> ::boltwright::__private::label);
        add = quote! {
            for #value in #iterate(#values) {
                let #label = #label_of(&#value);
                #add
            }
        };
    }
    if let Some(nodes_argument) = &case.arguments.nodes {
        let arrange = match nodes_argument.arrangement {
            Arrangement::Every => quote!(every),
            Arrangement::EveryPair => quote!(every_pair),
            Arrangement::EveryTriple => quote!(every_triple),
        };
        let among = among(case.arguments.among.as_ref());
        add = quote! {
            for #nodes in ::boltwright::__private::#arrange(#among) {
                #add
            }
        };
    }
    quote! {
        || {
            let mut #cells = ::boltwright::__private::Cells::default();
            #add
            #cells
        }
    }
}

/// The implementations as a slice. Behind a reference an array literal's elements coerce to `Kind`
/// one by one, and a `Vec` or another slice derefs.
fn among(among: Option<&Expr>) -> TokenStream {
    match among {
        Some(among) => {
            let reference = quote_spanned!(at(among.span())=> &);
            quote!(#reference #among)
        }
        None => quote!(::boltwright::__private::KINDS),
    }
}

/// The call of the function with one cell's values, and what became of it.
fn call(case: &Case) -> TokenStream {
    let name = &case.function.sig.ident;
    let types = &case.parameters;
    let mut values = vec![hidden("lab", types.lab.span()).to_token_stream()];
    if let (Some(argument), Some(nodes)) = (&case.arguments.nodes, &types.nodes) {
        let place = nodes.span();
        let nodes = hidden("nodes", place);
        values.push(match argument.arrangement {
            Arrangement::Every => quote_spanned!(at(place)=> #nodes[0]),
            Arrangement::EveryPair | Arrangement::EveryTriple => nodes.to_token_stream(),
        });
    }
    if let Some(each) = &types.each {
        values.push(hidden("value", each.span()).to_token_stream());
    }
    // Naming the type makes the compiler tell at its place that a test cannot return it.
    let returned = match &case.function.sig.output {
        ReturnType::Default => quote!(()),
        ReturnType::Type(_, returned) => returned.to_token_stream(),
    };
    quote! {{
        use ::boltwright::__private::{ByChain as _, ByDebug as _, ByDisplay as _, ByError as _};
        (&&&&::boltwright::__private::Told(::boltwright::__private::returned::<#returned>(#name(#(#values),*)))).told()
    }}
}

/// One of the expansion's own variables, told about in error messages at this place.
fn hidden(name: &str, place: Span) -> Ident {
    Ident::new(name, at(place))
}

/// Tokens of the expansion's own (so the author's names and lints do not touch them), standing at
/// this place in error messages.
fn at(place: Span) -> Span {
    Span::mixed_site().located_at(place)
}
