package badinput

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"airgap.dev/airgap/e2e/scenario"
)

// damage is one way in which the files on a stick can differ from the signed ones.
type damage struct {
	name string
	do   func(dir string) error
	says []string // texts that the error must contain
}

// LastPart is the file name of the last part of a bundle of the lab, which has only one part.
const LastPart = "bundle.tar.000"

func damages() []damage {
	return []damage{
		{"truncated", func(dir string) error { return os.Truncate(filepath.Join(dir, LastPart), 5<<20) }, []string{LastPart, "has 5242880 bytes"}},
		{"missing", func(dir string) error { return os.Remove(filepath.Join(dir, LastPart)) }, []string{LastPart, "missing"}},
		{"flipped", flipByte, []string{LastPart, "chunk 7"}},
		{"stripped", func(dir string) error { return os.Remove(filepath.Join(dir, "SHA256SUMS.sig")) }, []string{"signature is missing"}},
		{"resigned", signWithOtherKey, []string{"signature is wrong"}},
		{"edited", editIndex, []string{"bundle.json"}},
	}
}

// flipByte changes one bit in chunk 7 of the first part.
func flipByte(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, LastPart), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	var b [1]byte
	const at = 7<<20 + 4711
	if _, err := f.ReadAt(b[:], at); err != nil {
		return err
	}
	b[0] ^= 0x10
	_, err = f.WriteAt(b[:], at)
	return err
}

func signWithOtherKey(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	if err != nil {
		return err
	}
	digest := sha256.Sum256(sums)
	signature, err := ecdsa.SignASN1(rand.Reader, key, digest[:])
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS.sig"), signature, 0o644)
}

func editIndex(dir string) error {
	path := filepath.Join(dir, "bundle.json")
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, bytes.Replace(data, []byte("10.88.0.11"), []byte("10.88.0.99"), 1), 0o644)
}

// damagedBundles creates a good bundle, and a damaged copy of it for each damage.
func damagedBundles(ctx context.Context, e *scenario.Env) error {
	config, err := e.Config("airgap.yaml")
	if err != nil {
		return err
	}
	sticks := filepath.Join(e.Work, "sticks")
	good := filepath.Join(sticks, "good")
	if err := e.Do(ctx, 0, nil, "bundle", "-f", config, "--facts", e.Facts(), "-o", good); err != nil {
		return err
	}
	for _, d := range damages() {
		dir := filepath.Join(sticks, d.name)
		if out, err := exec.CommandContext(ctx, "cp", "-r", "--reflink=auto", good, dir).CombinedOutput(); err != nil {
			return fmt.Errorf("copy the bundle: %w: %s", err, out)
		}
		if err := d.do(filepath.Join(dir, "bank")); err != nil {
			return err
		}
		if err := e.Do(ctx, 1, d.says, "inspect", "--full", filepath.Join(dir, "bank")); err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
	}
	return nil
}
