package bundle

import (
	"bytes"
	"crypto/ecdsa"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"airgap.dev/airgap/internal/host"
)

// finish writes what makes the directory a bundle: the files beside the
// parts, the index, the sums, the signature; and last takes the mark away.
func (w *work) finish(index *Index, stick []StickFile, key *ecdsa.PrivateKey) error {
	all := sums{}
	for _, p := range index.Parts {
		all[p.Name] = p.SHA256
	}
	for _, f := range stick {
		sum, err := f.writeTo(w.dir)
		if err != nil {
			return fmt.Errorf("put %s on the stick: %w", f.Name, err)
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

// write puts the sums into dir, and behind them their signature.
func (s sums) write(dir string, key *ecdsa.PrivateKey) error {
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
