//! Writes the glue between JavaScript and a module of WebAssembly: `glue MODULE FOLDER`.

use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [module, folder] = &words[..] else {
        eprintln!("usage: glue MODULE FOLDER");
        return ExitCode::from(2);
    };
    let mut bindgen = Bindgen::new();
    let web = bindgen.input_path(module).web(true);
    match web.and_then(|bindgen| bindgen.omit_default_module_path(false).generate(folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{module}: {error}");
            ExitCode::FAILURE
        }
    }
}
