#!/bin/sh
# Installs the program wb: curl -fsSL URL/install.sh | sh
# WB_RELEASE: where the files of the release are. WB_PREFIX: where bin/wb goes [default: ~/.local].
set -eu

version="@VERSION@"
release="${WB_RELEASE:-@RELEASE@}"
prefix="${WB_PREFIX:-$HOME/.local}"

fail() {
  echo "error: $1" >&2
  echo "hint: $2" >&2
  exit 1
}

[ -n "$release" ] || fail "no release is published yet" "set WB_RELEASE to the address of its files"

case "$(uname -s)-$(uname -m)" in
  Linux-x86_64) target=x86_64-unknown-linux-musl ;;
  Linux-aarch64 | Linux-arm64) target=aarch64-unknown-linux-musl ;;
  *) fail "there is no program for $(uname -s) on $(uname -m)" "build it: cargo install --path crates/wb-cli" ;;
esac

name="wb-$version-$target"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for file in "$name.tar.gz" SHA256SUMS; do
  curl -fsSL "$release/$file" -o "$file" || fail "$release/$file cannot be loaded" "check the network, or set WB_RELEASE"
done
grep " $name.tar.gz\$" SHA256SUMS | sha256sum -c - >/dev/null 2>&1 ||
  fail "the checksum of $name.tar.gz is wrong" "load it again"
tar -xzf "$name.tar.gz"
mkdir -p "$prefix/bin"
install -m 755 "$name/wb" "$prefix/bin/wb"
echo "installed $prefix/bin/wb, version $version"
case ":$PATH:" in
  *":$prefix/bin:"*) ;;
  *) echo "hint: add $prefix/bin to PATH" ;;
esac
