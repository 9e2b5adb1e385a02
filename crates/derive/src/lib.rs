//! Derives `hyperslab::H5Type`: structs become compound types, field-less enums become enum types.

use proc_macro_crate::{FoundCrate, crate_name};
use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{
    Attribute, Data, DataEnum, DataStruct, DeriveInput, Error, Fields, GenericParam, Generics, Ident, Index,
    Member, Path, Result, parse_quote,
};

/// Derives `H5Type`.
///
/// A struct becomes a compound of its fields; those of a tuple struct are called `0`, `1`, …. A struct of one field with
/// `#[repr(transparent)]` is stored as that field. Type parameters must be `H5Type`. An enum needs variants without
/// fields and a `#[repr(…)]` of an integer type.
///
/// `#[hdf5(rename = "…")]` on a field or variant gives the name it has in files. The crate is found under the name that
/// the program's `Cargo.toml` gives it; `#[hdf5(crate = path)]` on the type names it where that fails.
#[proc_macro_derive(H5Type, attributes(hdf5))]
pub fn derive_h5type(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    expand(&input).unwrap_or_else(|e| e.to_compile_error()).into()
}

fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let body = match &input.data {
        Data::Struct(data) if is_transparent(input) => expand_transparent(input, data)?,
        Data::Struct(data) => expand_struct(data)?,
        Data::Enum(data) => expand_enum(input, data)?,
        Data::Union(_) => {
            return Err(Error::new_spanned(&input.ident, "H5Type cannot be derived for unions"));
        }
    };
    let (name, found, generics) = (&input.ident, crate_path(input)?, bounded(&input.generics));
    let (parameters, arguments, conditions) = generics.split_for_impl();
    Ok(quote! {
        const _: () = {
            use #found as _hyperslab;

            #[automatically_derived]
            impl #parameters _hyperslab::H5Type for #name #arguments #conditions {
                #body
            }
        };
    })
}

/// Type parameters are elements.
fn bounded(generics: &Generics) -> Generics {
    let mut generics = generics.clone();
    for parameter in &mut generics.params {
        if let GenericParam::Type(parameter) = parameter {
            parameter.bounds.push(parse_quote!(_hyperslab::H5Type));
        }
    }
    generics
}

/// Returns the path of this library in the program that derives.
fn crate_path(input: &DeriveInput) -> Result<TokenStream> {
    if let Some(path) = named_crate(input)? {
        return Ok(quote!(#path));
    }
    match crate_name("hyperslab") {
        Ok(FoundCrate::Name(name)) => {
            let name = Ident::new(&name, Span::call_site());
            Ok(quote!(::#name))
        }
        // The library itself, which knows itself by its name; or a program that Cargo does not build.
        Ok(FoundCrate::Itself) | Err(_) => Ok(quote!(::hyperslab)),
    }
}

fn named_crate(input: &DeriveInput) -> Result<Option<Path>> {
    let mut found = None;
    for attribute in input.attrs.iter().filter(|a| a.path().is_ident("hdf5")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(meta.error("only crate = path is known here"));
            }
            found = Some(meta.value()?.call(Path::parse_mod_style)?);
            Ok(())
        })?;
    }
    Ok(found)
}

fn is_transparent(input: &DeriveInput) -> bool {
    let mut found = false;
    for attribute in input.attrs.iter().filter(|a| a.path().is_ident("repr")) {
        // What else stands there is the compiler's to judge.
        let _ = attribute.parse_nested_meta(|meta| {
            found |= meta.path.is_ident("transparent");
            Ok(())
        });
    }
    found
}

fn expand_transparent(input: &DeriveInput, data: &DataStruct) -> Result<TokenStream> {
    let fields: Vec<_> = data.fields.iter().collect();
    let [field] = fields[..] else {
        return Err(Error::new_spanned(&input.ident, "a transparent H5Type needs exactly one field"));
    };
    let (ty, member) = (&field.ty, member_of(0, field.ident.as_ref()));
    Ok(quote! {
        fn datatype() -> _hyperslab::Datatype {
            <#ty as _hyperslab::H5Type>::datatype()
        }

        #[inline]
        fn element_bytes() -> usize {
            <#ty as _hyperslab::H5Type>::element_bytes()
        }

        #[inline]
        fn load(element: &[u8], heap: &_hyperslab::vol::model::Heap) -> _hyperslab::Result<Self> {
            Ok(Self { #member: <#ty as _hyperslab::H5Type>::load(element, heap)? })
        }

        #[inline]
        fn store(&self, element: &mut [u8], heap: &mut _hyperslab::vol::model::Heap) -> _hyperslab::Result<()> {
            _hyperslab::H5Type::store(&self.#member, element, heap)
        }
    })
}

/// Returns a field by its name, or by its place.
fn member_of(index: usize, ident: Option<&Ident>) -> Member {
    ident.map_or_else(|| Member::Unnamed(Index::from(index)), |ident| Member::Named(ident.clone()))
}

fn expand_struct(data: &DataStruct) -> Result<TokenStream> {
    let fields = || data.fields.iter().enumerate();
    let members: Vec<_> = fields().map(|(n, f)| member_of(n, f.ident.as_ref())).collect();
    let values: Vec<_> =
        fields().map(|(n, _)| Ident::new(&format!("value_{n}"), Span::mixed_site())).collect();
    let names = fields()
        .map(|(n, f)| match &f.ident {
            Some(ident) => stored_name(ident.to_string(), &f.attrs),
            None => stored_name(n.to_string(), &f.attrs),
        })
        .collect::<Result<Vec<_>>>()?;
    let types: Vec<_> = data.fields.iter().map(|f| &f.ty).collect();
    Ok(quote! {
        fn datatype() -> _hyperslab::Datatype {
            _hyperslab::Datatype::Compound(_hyperslab::vol::model::datatype::Compound::packed([
                #( (#names.to_owned(), <#types as _hyperslab::H5Type>::datatype()) ),*
            ]))
        }

        #[inline]
        fn element_bytes() -> usize {
            0 #( + <#types as _hyperslab::H5Type>::element_bytes() )*
        }

        #[inline]
        fn load(element: &[u8], heap: &_hyperslab::vol::model::Heap) -> _hyperslab::Result<Self> {
            let mut at = 0usize;
            #(
                let bytes = <#types as _hyperslab::H5Type>::element_bytes();
                let part = element.get(at..at + bytes).ok_or_else(|| {
                    _hyperslab::Error::invalid("read compound").with("member", #names)
                })?;
                let #values = <#types as _hyperslab::H5Type>::load(part, heap)?;
                at += bytes;
            )*
            let _ = at;
            Ok(Self { #(#members: #values),* })
        }

        #[inline]
        fn store(&self, element: &mut [u8], heap: &mut _hyperslab::vol::model::Heap) -> _hyperslab::Result<()> {
            let mut at = 0usize;
            #(
                let bytes = <#types as _hyperslab::H5Type>::element_bytes();
                let part = element.get_mut(at..at + bytes).ok_or_else(|| {
                    _hyperslab::Error::invalid("write compound").with("member", #names)
                })?;
                _hyperslab::H5Type::store(&self.#members, part, heap)?;
                at += bytes;
            )*
            let _ = at;
            Ok(())
        }
    })
}

fn expand_enum(input: &DeriveInput, data: &DataEnum) -> Result<TokenStream> {
    let name = &input.ident;
    if let Some(variant) = data.variants.iter().find(|v| !matches!(v.fields, Fields::Unit)) {
        return Err(Error::new_spanned(variant, "H5Type needs variants without fields"));
    }
    let repr = integer_repr(input)?;
    let idents: Vec<_> = data.variants.iter().map(|v| &v.ident).collect();
    let names = data
        .variants
        .iter()
        .map(|v| stored_name(v.ident.to_string(), &v.attrs))
        .collect::<Result<Vec<_>>>()?;
    Ok(quote! {
        fn datatype() -> _hyperslab::Datatype {
            _hyperslab::Datatype::Enum(_hyperslab::vol::model::datatype::Enum {
                base: Box::new(<#repr as _hyperslab::H5Type>::datatype()),
                members: vec![ #( (#names.to_owned(), (#name::#idents as #repr).to_ne_bytes().to_vec()) ),* ],
            })
        }

        #[inline]
        fn element_bytes() -> usize {
            <#repr as _hyperslab::H5Type>::element_bytes()
        }

        #[inline]
        fn load(element: &[u8], heap: &_hyperslab::vol::model::Heap) -> _hyperslab::Result<Self> {
            let value = <#repr as _hyperslab::H5Type>::load(element, heap)?;
            #( if value == #name::#idents as #repr { return Ok(#name::#idents); } )*
            Err(_hyperslab::Error::conversion("read enum").with("value", value))
        }

        #[inline]
        fn store(&self, element: &mut [u8], heap: &mut _hyperslab::vol::model::Heap) -> _hyperslab::Result<()> {
            let value = match self { #( #name::#idents => #name::#idents as #repr ),* };
            _hyperslab::H5Type::store(&value, element, heap)
        }
    })
}

/// Returns the name a field or variant has in files.
fn stored_name(mut name: String, attributes: &[Attribute]) -> Result<String> {
    for attribute in attributes.iter().filter(|a| a.path().is_ident("hdf5")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("rename") {
                return Err(meta.error("only rename = \"…\" is known here"));
            }
            name = meta.value()?.parse::<syn::LitStr>()?.value();
            Ok(())
        })?;
    }
    Ok(name)
}

fn integer_repr(input: &DeriveInput) -> Result<Ident> {
    const INTEGERS: [&str; 10] = ["u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64", "isize"];
    let mut found = None;
    for attribute in input.attrs.iter().filter(|a| a.path().is_ident("repr")) {
        attribute.parse_nested_meta(|meta| {
            found = meta
                .path
                .get_ident()
                .filter(|i| INTEGERS.contains(&i.to_string().as_str()))
                .cloned()
                .or(found.take());
            Ok(())
        })?;
    }
    found.ok_or_else(|| Error::new_spanned(&input.ident, "H5Type needs #[repr(u8)] or another integer"))
}
