use wb_record::{ChangeSet, MemoryParts, Parts};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut parts = MemoryParts::from_bytes("{}\n");
    let set = ChangeSet::append("", 3, b"{\"a\":1}\n".to_vec());
    parts.commit(&set)?;
    assert_eq!(parts.whole("")?, b"{}\n{\"a\":1}\n");
    parts.commit(&set.inverse())?;
    assert_eq!(parts.whole("")?, b"{}\n");
    Ok(())
}
