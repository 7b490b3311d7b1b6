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
func pieces(change func(dir string, names []string) error) func(context.Context, *stage) (scenario.Result, error) {
	return func(ctx context.Context, s *stage) (scenario.Result, error) {
		packed, to := filepath.Join(s.dir, "pieces"), filepath.Join(s.dir, "unpacked")
		r, err := s.Airgap(ctx, "pack", "--size", "50MiB", "--ext", ".zip", s.good, packed)
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
		{"a piece is changed", pieces(alter), 1, []string{"again"}},
	}
}
