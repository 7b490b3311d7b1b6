package gates

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"airgap.dev/airgap/e2e/scenario"
)

// pieces plays a gate that takes only small files with an extension: airgap pack, a change of
// the pieces, airgap unpack, and the inspection of the result if unpack succeeds.
func pieces(change func(dir string, names []string) error, flags ...string) func(context.Context, *stage) (scenario.Result, error) {
	return func(ctx context.Context, s *stage) (scenario.Result, error) {
		packed, to := filepath.Join(s.dir, "pieces"), filepath.Join(s.dir, "unpacked")
		r, err := s.Airgap(ctx, append([]string{"pack", "--size", "50MiB", "--ext", ".zip", s.good, packed}, flags...)...)
		if err != nil || r.Code != 0 {
			return r, err
		}
		names, err := namesIn(packed)
		if err == nil {
			err = change(packed, names)
		}
		if err != nil {
			return r, err
		}
		r, err = s.Airgap(ctx, "unpack", packed, to)
		if err != nil || r.Code != 0 {
			return r, err
		}
		return s.inspected(ctx, to)
	}
}

func namesIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Size() > 50<<20 {
			return nil, fmt.Errorf("piece %s has %d bytes, more than --size", e.Name(), info.Size())
		}
		if filepath.Ext(e.Name()) != ".zip" {
			return nil, fmt.Errorf("piece %s has another extension than --ext", e.Name())
		}
		names = append(names, e.Name())
	}
	if err == nil && len(names) < 3 {
		err = fmt.Errorf("pack made only %d pieces", len(names))
	}
	return names, err
}

// renamedAll gives every piece a name from a counter, in another order and with another
// extension.
func renamedAll(dir string, names []string) error {
	var err error
	for i, name := range names {
		err = errors.Join(err, os.Rename(filepath.Join(dir, name), filepath.Join(dir, fmt.Sprintf("upload(%d).bin", len(names)-i))))
	}
	return err
}

// twice adds a second copy of a piece, as a repeated upload does.
func twice(dir string, names []string) error {
	return os.Link(filepath.Join(dir, names[1]), filepath.Join(dir, strings.TrimSuffix(names[1], ".zip")+" (1).zip"))
}

func lose(dir string, names []string) error { return os.Remove(filepath.Join(dir, names[1])) }

func alter(dir string, names []string) error {
	return replaceFile(filepath.Join(dir, names[1]), flipBit)
}

func pieceTrials() []trial {
	keep := func(string, []string) error { return nil }
	return []trial{
		{"pieces of 50 MiB", pieces(keep), 0, []string{"every byte verified"}},
		{"pieces with other names and extensions", pieces(renamedAll), 0, []string{"every byte verified"}},
		{"a piece that arrives twice", pieces(twice), 0, []string{"every byte verified"}},
		{"a piece is lost", pieces(lose), 1, []string{"missing"}},
		{"a piece is changed", pieces(alter), 1, []string{"missing"}},
		{"a lost piece is sent again", sentAgain, 0, []string{"every byte verified"}},
		{"pieces of a bundle that two persons signed", packedWithTwoSignatures, 0, []string{"every byte verified"}},
		{"a lost piece, with parity", pieces(lose, "--parity", "2"), 0, []string{"every byte verified"}},
	}
}

// sentAgain loses a piece, and packs only the missing one from the list of airgap unpack.
func sentAgain(ctx context.Context, s *stage) (scenario.Result, error) {
	packed, to, list := filepath.Join(s.dir, "pieces"), filepath.Join(s.dir, "unpacked"), filepath.Join(s.dir, "missing.txt")
	pack := []string{"pack", "--size", "50MiB", "--ext", ".zip", s.good, packed}
	r, err := s.Airgap(ctx, pack...)
	if err != nil || r.Code != 0 {
		return r, err
	}
	names, err := namesIn(packed)
	if err == nil {
		err = lose(packed, names)
	}
	if err != nil {
		return r, err
	}
	if err := s.Do(ctx, 1, []string{"missing"}, "unpack", packed, to, "--missing", list); err != nil {
		return r, err
	}
	if err := os.RemoveAll(packed); err != nil { // the servers keep the pieces that arrived
		return r, err
	}
	for _, args := range [][]string{append(pack, "--only", list), {"unpack", packed, to}} {
		if r, err = s.Airgap(ctx, args...); err != nil || r.Code != 0 {
			return r, err
		}
	}
	return s.inspected(ctx, to)
}
