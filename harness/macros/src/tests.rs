//! What is accepted, what is refused and in which words. That the words come at the right place of
//! the source is shown in `tests/refusals.rs`, where there is a compiler.

use crate::{
    arguments::{Arguments, Arrangement},
    case::Case,
    expansion,
};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Item, ItemFn, parse2};

fn read(arguments: TokenStream, function: TokenStream) -> Result<Case, String> {
    let arguments = parse2::<Arguments>(arguments).map_err(|error| error.to_string())?;
    let function = parse2::<ItemFn>(function).expect("the test gives a function");
    Case::read(arguments, function).map_err(|errors| {
        let words: Vec<String> = errors.into_iter().map(|error| error.to_string()).collect();
        words.join("\n")
    })
}

fn refusal(arguments: TokenStream, function: TokenStream) -> String {
    match read(arguments, function) {
        Ok(_) => panic!("it should have been refused"),
        Err(words) => words,
    }
}

fn items(arguments: TokenStream, item: TokenStream) -> Vec<Item> {
    let file: syn::File = parse2(expansion::test(arguments, item)).expect("it expands to items");
    file.items
}

#[test]
fn a_test_without_arguments_has_one_cell() {
    let case = read(
        quote!(),
        quote!(
            fn pays(lab: &Lab) -> Result {
                Ok(())
            }
        ),
    )
    .expect("well-formed");
    assert!(case.arguments.nodes.is_none() && case.arguments.each.is_none());
    assert!(case.parameters.nodes.is_none() && case.parameters.each.is_none());
}

#[test]
fn nodes_and_each_are_taken_in_this_order() {
    let case = read(
        quote!(each = [1, 2], nodes = every_triple, among = [&MINE],),
        quote!(
            fn pays(_: &Lab, [a, b, c]: [Kind; 3], count: u32) {}
        ),
    )
    .expect("well-formed");
    let nodes = case.arguments.nodes.expect("nodes");
    assert_eq!(nodes.arrangement, Arrangement::EveryTriple);
    assert!(case.arguments.among.is_some());
    let (nodes, each) = (case.parameters.nodes, case.parameters.each);
    assert_eq!(
        quote!(#nodes #each).to_string(),
        quote!([Kind; 3] u32).to_string()
    );
}

#[test]
fn it_expands_to_a_hidden_function_and_a_test_of_its_name() {
    let items = items(
        quote!(),
        quote!(
            #[doc = "why"]
            fn pays(lab: &Lab) {}
        ),
    );
    let [Item::Const(hidden), Item::Fn(test)] = items.as_slice() else {
        panic!("a constant and a function");
    };
    assert_eq!(hidden.ident, "_");
    assert_eq!(test.sig.ident, "pays");
    assert_eq!(
        test.attrs.len(),
        1,
        "the doc comment stays with the hidden function"
    );
    let attribute = &test.attrs[0];
    assert_eq!(
        quote!(#attribute).to_string(),
        quote!(#[::core::prelude::v1::test]).to_string()
    );
}

#[test]
fn ignore_is_for_both_runners() {
    let expanded = expansion::test(
        quote!(),
        quote!(
            #[ignore = "slow"]
            fn pays(lab: &Lab) {}
        ),
    );
    let words = expanded.to_string();
    assert!(
        words.contains("ignore : :: core :: option :: Option :: Some (\"slow\")"),
        "{words}"
    );
    assert!(words.contains("# [ignore = \"slow\"]"), "{words}");
}

#[test]
fn should_panic_is_left_to_our_own_runner() {
    let function = quote!(
        #[should_panic(expected = "funds")]
        fn pays(lab: &Lab) {}
    );
    let words = expansion::test(quote!(), function).to_string();
    assert!(words.contains("should_panic : :: core :: option :: Option :: Some (\"funds\")"));
    assert!(!words.contains("# [should_panic"), "{words}");
}

#[test]
fn the_compiler_decides_about_every_cfg_first() {
    let items = items(
        quote!(each = [1]),
        quote!(
            #[cfg_attr(slow, ignore)]
            fn pays(lab: &Lab, n: u8) {}
        ),
    );
    let [Item::Fn(function)] = items.as_slice() else {
        panic!("the function itself, once more");
    };
    assert!(function.attrs[0].path().is_ident("cfg_attr"));
    let ours = &function.attrs[1];
    assert_eq!(
        quote!(#ours).to_string(),
        quote!(#[::boltwright::test(each = [1])]).to_string()
    );
}

#[test]
fn async_is_refused_with_what_to_do() {
    let words = refusal(
        quote!(),
        quote!(
            async fn pays(lab: &Lab) {}
        ),
    );
    assert!(
        words.contains("#[tokio::test]") && words.contains("`Lab::new()`"),
        "{words}"
    );
}

#[test]
fn every_wrong_signature_is_answered_with_the_right_one() {
    let pair = quote!(nodes = every_pair, each = [1]);
    for (arguments, function, right) in [
        (
            quote!(),
            quote!(
                fn pays() {}
            ),
            "`fn pays(lab: &Lab)`",
        ),
        (
            quote!(),
            quote!(
                fn pays(&self, lab: &Lab) {}
            ),
            "`fn pays(lab: &Lab)`",
        ),
        (
            quote!(),
            quote!(
                fn pays(lab: Lab) {}
            ),
            "`&Lab`",
        ),
        (
            quote!(),
            quote!(
                fn pays(lab: &mut Lab) {}
            ),
            "`&Lab`",
        ),
        (
            quote!(),
            quote!(
                fn pays(n: u32) {}
            ),
            "`lab: &Lab`",
        ),
        (
            quote!(),
            quote!(
                fn pays(lab: &Lab, n: u32) {}
            ),
            "`each = [...]`",
        ),
        (
            pair.clone(),
            quote!(
                fn pays(lab: &Lab) {}
            ),
            "`fn pays(lab: &Lab, [payer, payee]: [Kind; 2], value: T)`",
        ),
        (
            quote!(nodes = every),
            quote!(
                fn pays(lab: &Lab) {}
            ),
            "`fn pays(lab: &Lab, kind: Kind)`",
        ),
        (
            quote!(each = [1]),
            quote!(
                fn pays(lab: &Lab) {}
            ),
            "`fn pays(lab: &Lab, value: T)`",
        ),
    ] {
        let words = refusal(arguments, function.clone());
        assert!(words.contains(right), "{function}: {words}");
    }
}

#[test]
fn qualified_and_generic_functions_are_refused() {
    for (function, word) in [
        (
            quote!(
                const fn pays(lab: &Lab) {}
            ),
            "const",
        ),
        (
            quote!(
                unsafe fn pays(lab: &Lab) {}
            ),
            "unsafe block inside",
        ),
        (
            quote!(
                extern "C" fn pays(lab: &Lab) {}
            ),
            "ABI",
        ),
        (
            quote!(
                fn pays<T>(lab: &Lab) {}
            ),
            "generic",
        ),
        (
            quote!(
                fn pays(lab: &Lab)
                where
                    u8: Copy,
                {
                }
            ),
            "where clause",
        ),
    ] {
        let words = refusal(quote!(), function.clone());
        assert!(words.contains(word), "{function}: {words}");
    }
}

#[test]
fn all_mistakes_are_told_at_once() {
    let words = refusal(
        quote!(nodes = every),
        quote!(
            #[ignore(slow)]
            async fn pays(lab: Lab) {}
        ),
    );
    assert_eq!(words.lines().count(), 4, "{words}");
}

#[test]
fn wrong_arguments_are_answered_with_the_known_ones() {
    let function = || {
        quote!(
            fn pays(lab: &Lab) {}
        )
    };
    for arguments in [quote!(ech = [1]), quote!(each), quote!("each")] {
        let words = refusal(arguments, function());
        assert!(
            words.contains("`nodes = every`") && words.contains("`each = VALUES`"),
            "{words}"
        );
    }
    for arguments in [quote!(nodes = pairs), quote!(nodes = [1])] {
        let words = refusal(arguments, function());
        assert_eq!(words, "`nodes` is one of every, every_pair, every_triple");
    }
    let words = refusal(quote!(each = [1], each = [2]), function());
    assert!(words.contains("twice"), "{words}");
    let words = refusal(quote!(among = [&MINE]), function());
    assert!(words.contains("add `nodes = every`"), "{words}");
}

#[test]
fn attributes_that_would_make_another_test_are_refused() {
    for attribute in [
        quote!(#[test]),
        quote!(#[tokio::test]),
        quote!(#[rstest]),
        quote!(#[bench]),
    ] {
        let words = refusal(quote!(), quote!(#attribute fn pays(lab: &Lab) {}));
        assert!(
            words.contains("remove this attribute"),
            "{attribute}: {words}"
        );
    }
}

#[test]
fn malformed_attributes_are_answered_with_their_form() {
    for (function, form) in [
        (
            quote!(
                #[ignore(slow)]
                fn pays(lab: &Lab) {}
            ),
            "#[ignore = \"why\"]",
        ),
        (
            quote!(
                #[ignore = 3]
                fn pays(lab: &Lab) {}
            ),
            "#[ignore = \"why\"]",
        ),
        (
            quote!(
                #[should_panic(because = "x")]
                fn pays(lab: &Lab) {}
            ),
            "expected =",
        ),
        (
            quote!(
                #[should_panic()]
                fn pays(lab: &Lab) {}
            ),
            "expected =",
        ),
        (
            quote!(
                #[ignore]
                #[ignore]
                fn pays(lab: &Lab) {}
            ),
            "twice",
        ),
        (
            quote!(
                #[should_panic]
                fn pays(lab: &Lab) -> Result {
                    Ok(())
                }
            ),
            "returns nothing",
        ),
    ] {
        let words = refusal(quote!(), function.clone());
        assert!(words.contains(form), "{function}: {words}");
    }
    let unit = read(
        quote!(),
        quote!(
            #[should_panic]
            fn pays(lab: &Lab) -> () {}
        ),
    );
    assert!(unit.is_ok());
}

#[test]
fn what_is_no_function_is_refused() {
    let expanded = expansion::test(
        quote!(),
        quote!(
            struct Pays;
        ),
    )
    .to_string();
    assert!(expanded.contains("compile_error"), "{expanded}");
    assert!(
        expanded.contains("stands above a function `fn name(lab: &Lab)`"),
        "{expanded}"
    );
}
