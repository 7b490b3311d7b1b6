package bundle

import (
	"bytes"
	"crypto"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"airgap.dev/airgap/internal/host"
)

// finish writes the files that complete the bundle: the files next to the parts, the
// index, the sums and the signature. At the end it removes the mark.
func (w *work) finish(index *Index, stick []StickFile, key crypto.Signer) error {
	all := sums{}
	for _, p := range index.Parts {
		all[p.Name] = p.SHA256
	}
	for _, f := range stick {
		sum, err := f.writeTo(w.dir)
		if err != nil {
			return fmt.Errorf("write %s to the bundle: %w", f.Name, err)
		}
		all[f.Name] = sum
	}
	text, err := json.MarshalIndent(index, "", " ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", IndexName, err)
	}
	all[IndexName] = sha256Hex(text)
	if err := writeStick(filepath.Join(w.dir, IndexName), 0o644, bytes.NewReader(text)); err != nil {
		return err
	}
	if err := all.write(w.dir, key); err != nil {
		return err
	}
	if err := host.SyncDir(w.dir); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(w.dir, partialName)); err != nil {
		return err
	}
	return host.SyncDir(w.dir)
}

// write writes the sums to dir, and then their signature.
func (s sums) write(dir string, key crypto.Signer) error {
	text := []byte(s.String())
	signature, err := sign(key, text)
	if err != nil {
		return fmt.Errorf("sign %s: %w", SumsName, err)
	}
	if err := writeStick(filepath.Join(dir, SumsName), 0o644, bytes.NewReader(text)); err != nil {
		return err
	}
	return writeStick(filepath.Join(dir, SignatureName), 0o644, bytes.NewReader(signature))
}
