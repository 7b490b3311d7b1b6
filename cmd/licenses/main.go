// Licenses writes down the licences of what a program is made of: who hands the
// program on has to hand them on with it.
//
//	go run ./cmd/licenses PACKAGE… >licenses/third-party.txt.gz
//
// They are those of the modules whose packages go list names, each with the files
// that the packages' own directories have, and of Go, whose library is in every
// program.
package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	z := gzip.NewWriter(os.Stdout) // a sixth of it, in a program that is in every bundle
	if err := errors.Join(run(context.Background(), z, os.Args[1:]), z.Close()); err != nil {
		fmt.Fprintf(os.Stderr, "licenses: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, packages []string) error {
	parts, err := partsOf(ctx, packages)
	if err != nil {
		return err
	}
	texts, err := gather(parts)
	if err != nil {
		return err
	}
	_, err = w.Write(write(texts))
	return err
}

// part is a directory with source of a module. Root is the module's own.
type part struct {
	module, version string
	dir, root       string
}

// text is what one or several modules say, each in a file of its own.
type text struct {
	of   []string
	said string
}

// partsOf are the directories of all packages that are linked, and of Go.
func partsOf(ctx context.Context, packages []string) ([]part, error) {
	out, err := output(ctx, append([]string{"list", "-deps", "-json=Dir,Module"}, packages...)...)
	if err != nil {
		return nil, err
	}
	var parts []part
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Dir    string
			Module *struct {
				Path, Version, Dir string
				Main               bool
				Replace            *struct{ Path string }
			}
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("read what go list says: %w", err)
		}
		if m := p.Module; m != nil && !m.Main && (m.Replace == nil || !strings.HasPrefix(m.Replace.Path, "./")) { // else it is our own
			parts = append(parts, part{m.Path, m.Version, p.Dir, m.Dir})
		}
	}
	own, err := output(ctx, "env", "GOROOT", "GOVERSION")
	if err != nil {
		return nil, err
	}
	root, version, _ := strings.Cut(strings.TrimSpace(string(own)), "\n")
	return append(parts, part{"Go", version, root, root}), nil
}

func output(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // the Makefile names the packages
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return out, nil
}

// isLicense is what such files are called; AUTHORS are those whom a LICENSE speaks of.
var isLicense = regexp.MustCompile(`(?i)^((un)?licen[cs]e|copying|notice|patents|authors)([-._].*)?$`)

// gather reads the files of each directory up to its module's root. A module that
// has none is an error: nobody has allowed to hand it on.
func gather(parts []part) ([]text, error) {
	by := map[string][]string{}
	seen, licensed := map[string]bool{}, map[string]bool{}
	for _, p := range parts {
		for dir := p.dir; !seen[dir]; dir = filepath.Dir(dir) {
			seen[dir] = true
			entries, err := os.ReadDir(dir)
			if err != nil {
				return nil, err
			}
			for _, e := range entries {
				if e.IsDir() || !isLicense.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
					continue
				}
				said, err := os.ReadFile(filepath.Join(dir, e.Name()))
				if err != nil {
					return nil, err
				}
				inside, err := filepath.Rel(p.root, filepath.Join(dir, e.Name()))
				if err != nil {
					return nil, err
				}
				key := strings.TrimSpace(strings.ReplaceAll(string(said), "\r\n", "\n"))
				by[key] = append(by[key], p.module+" "+p.version+": "+filepath.ToSlash(inside))
				licensed[p.module] = true
			}
			if dir == p.root {
				break
			}
		}
	}
	var errs []error
	for _, p := range parts {
		if !licensed[p.module] {
			licensed[p.module] = true
			errs = append(errs, fmt.Errorf("%s has no file with its licence: airgap may not be handed on with it", p.module))
		}
	}
	var texts []text
	for said, of := range by {
		slices.Sort(of)
		texts = append(texts, text{of, said})
	}
	slices.SortFunc(texts, func(a, b text) int { return cmp.Compare(a.of[0], b.of[0]) })
	return texts, errors.Join(errs...)
}

// write gives each text once, after the modules that it is of.
func write(texts []text) []byte {
	var b bytes.Buffer
	b.WriteString("What airgap is made of beside its own source is under these licences.\n")
	for _, t := range texts {
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(t.of, "\n"), t.said)
	}
	return b.Bytes()
}
