//! Derives `hyperslab::H5Type`: structs become compound types, field-less enums become enum types.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Data, DataEnum, DataStruct, DeriveInput, Error, Fields, Ident, Result};

/// Derives `H5Type`. A struct needs named fields; an enum needs variants without fields and a `#[repr(…)]`
/// of an integer type. `#[hdf5(rename = "…")]` on a field or variant gives the name it has in files.
#[proc_macro_derive(H5Type, attributes(hdf5))]
pub fn derive_h5type(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    expand(&input).unwrap_or_else(|e| e.to_compile_error()).into()
}

fn expand(input: &DeriveInput) -> Result<TokenStream> {
    match &input.data {
        Data::Struct(data) => expand_struct(&input.ident, data),
        Data::Enum(data) => expand_enum(input, data),
        Data::Union(_) => Err(Error::new_spanned(&input.ident, "H5Type cannot be derived for unions")),
    }
}

fn expand_struct(name: &Ident, data: &DataStruct) -> Result<TokenStream> {
    let Fields::Named(fields) = &data.fields else {
        return Err(Error::new_spanned(name, "H5Type needs named fields"));
    };
    let idents: Vec<_> = fields.named.iter().filter_map(|f| f.ident.as_ref()).collect();
    let names =
        fields.named.iter().map(|f| stored_name(f.ident.as_ref(), &f.attrs)).collect::<Result<Vec<_>>>()?;
    let types: Vec<_> = fields.named.iter().map(|f| &f.ty).collect();
    Ok(quote! {
        impl ::hyperslab::H5Type for #name {
            fn datatype() -> ::hyperslab::Datatype {
                ::hyperslab::Datatype::Compound(::hyperslab::model::datatype::Compound::packed([
                    #( (#names.to_owned(), <#types as ::hyperslab::H5Type>::datatype()) ),*
                ]))
            }

            fn element_bytes() -> usize {
                0 #( + <#types as ::hyperslab::H5Type>::element_bytes() )*
            }

            fn load(element: &[u8], heap: &::hyperslab::model::Heap) -> ::hyperslab::Result<Self> {
                let mut at = 0usize;
                #(
                    let bytes = <#types as ::hyperslab::H5Type>::element_bytes();
                    let part = element.get(at..at + bytes).ok_or_else(|| {
                        ::hyperslab::Error::invalid("read compound").with("member", #names)
                    })?;
                    let #idents = <#types as ::hyperslab::H5Type>::load(part, heap)?;
                    at += bytes;
                )*
                let _ = at;
                Ok(#name { #(#idents),* })
            }

            fn store(&self, element: &mut [u8], heap: &mut ::hyperslab::model::Heap) -> ::hyperslab::Result<()> {
                let mut at = 0usize;
                #(
                    let bytes = <#types as ::hyperslab::H5Type>::element_bytes();
                    let part = element.get_mut(at..at + bytes).ok_or_else(|| {
                        ::hyperslab::Error::invalid("write compound").with("member", #names)
                    })?;
                    ::hyperslab::H5Type::store(&self.#idents, part, heap)?;
                    at += bytes;
                )*
                let _ = at;
                Ok(())
            }
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
    let names =
        data.variants.iter().map(|v| stored_name(Some(&v.ident), &v.attrs)).collect::<Result<Vec<_>>>()?;
    Ok(quote! {
        impl ::hyperslab::H5Type for #name {
            fn datatype() -> ::hyperslab::Datatype {
                ::hyperslab::Datatype::Enum(::hyperslab::model::datatype::Enum {
                    base: Box::new(<#repr as ::hyperslab::H5Type>::datatype()),
                    members: vec![ #( (#names.to_owned(), (#name::#idents as #repr).to_ne_bytes().to_vec()) ),* ],
                })
            }

            fn load(element: &[u8], heap: &::hyperslab::model::Heap) -> ::hyperslab::Result<Self> {
                let value = <#repr as ::hyperslab::H5Type>::load(element, heap)?;
                #( if value == #name::#idents as #repr { return Ok(#name::#idents); } )*
                Err(::hyperslab::Error::conversion("read enum").with("value", value))
            }

            fn store(&self, element: &mut [u8], heap: &mut ::hyperslab::model::Heap) -> ::hyperslab::Result<()> {
                let value = match self { #( #name::#idents => #name::#idents as #repr ),* };
                ::hyperslab::H5Type::store(&value, element, heap)
            }
        }
    })
}

/// The name a field or variant has in files.
fn stored_name(ident: Option<&Ident>, attributes: &[Attribute]) -> Result<String> {
    let mut name = ident.map(ToString::to_string).unwrap_or_default();
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
    const INTEGERS: [&str; 8] = ["u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64"];
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
