package signing

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
)

const (
	inputEnding     = ".input"
	signatureEnding = ".sig"
	listName        = "TO-SIGN.txt"
)

// Folder exchanges inputs and signatures with another host: it writes NAME.input, and a
// person adds NAME.sig. The same build asks for the same inputs, so a later run finds
// the signatures.
type Folder struct {
	Dir string

	wanted []Request
}

// Signature is a Method.
func (f *Folder) Signature(r Request) ([]byte, error) {
	if err := os.MkdirAll(f.Dir, 0o755); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(f.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	signature, err := readSignature(root, r.Name()+signatureEnding)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return signature, err
	}
	f.wanted = append(f.wanted, r)
	if err := host.WriteFile(filepath.Join(f.Dir, r.Name()+inputEnding), r.Input, 0o644); err != nil {
		return nil, err
	}
	if err := host.WriteFile(filepath.Join(f.Dir, listName), f.list(), 0o644); err != nil {
		return nil, err
	}
	return nil, ErrPending
}

// readSignature reads a file that came from another host.
func readSignature(root *os.Root, name string) ([]byte, error) {
	info, err := root.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("read %s: want a regular file", name)
	}
	if err != nil {
		return nil, err
	}
	file, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxSignature+1))
	if err == nil && (len(text) == 0 || len(text) > maxSignature) {
		err = fmt.Errorf("read %s: want a signature, 1 to %d bytes", name, maxSignature)
	}
	return text, err
}

// Missing is the error with the signatures that a person has to bring; nil without any.
func (f *Folder) Missing() error {
	if f == nil || len(f.wanted) == 0 {
		return nil
	}
	var names []string
	for _, r := range f.wanted {
		names = append(names, r.Name()+inputEnding)
	}
	return advice.Add(fmt.Errorf("%w: %s in %s", ErrPending, strings.Join(names, ", "), f.Dir),
		"sign these files as %s says, put the .sig files next to them, and run the same command again", filepath.Join(f.Dir, listName))
}

// list is the text with the instructions for the signatures.
func (f *Folder) list() []byte {
	var b bytes.Buffer
	b.WriteString("airgap waits for these signatures. Each .input file has a digest; do not hash it again.\nPut the .sig files into this directory, and run the same airgap command again.\n")
	for _, r := range f.wanted {
		in, out := r.Name()+inputEnding, r.Name()+signatureEnding
		fmt.Fprintf(&b, "\n%s, with the %s key SHA256:%s\n", in, strings.ToUpper(r.Algorithm), r.Fingerprint)
		fmt.Fprintf(&b, "  openssl pkeyutl -sign -inkey KEY.pem -in %s -out %s\n", in, out)
		mechanism := "RSA-PKCS"
		if r.Algorithm == "ecdsa" {
			mechanism = "ECDSA --signature-format openssl"
		}
		fmt.Fprintf(&b, "  pkcs11-tool --module MODULE.so --login --sign --mechanism %s --id ID --input-file %s --output-file %s\n", mechanism, in, out)
	}
	return b.Bytes()
}
