// Package frozen chooses packages with dnf from a real vendor's metadata: those of a server
// that was installed long ago, and those that its vendor offers today.
package frozen

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

//go:embed choose.py
var choose []byte

// Choice has the inputs of Choose.
type Choice struct {
	Date     string   // 2024-10-01: the server has no package that was built later
	Packages int      // number of packages of the server
	Asked    []string // names of packages that the site will request
	From     []string // NAME=URL of the repositories
}

// Package is one build in the metadata. Relations are in RPM's notation.
type Package struct {
	Name, Version, Release, Arch string
	Epoch                        uint32
	Summary                      string
	Provides, Requires           []string
	Conflicts, Obsoletes         []string
	Files                        []string
	Installed                    bool // on the server; else offered by the vendor
}

// Key returns all inputs of the choice, for stage.Key.
func (c Choice) Key() []any { return []any{c, choose} }

// Choose runs dnf. It uses the Python of the Linux distribution, not the one in PATH, because
// only that one has dnf's modules.
func (c Choice) Choose(ctx context.Context) (packages []Package, err error) {
	dir, err := os.MkdirTemp("", "frozen-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	script := filepath.Join(dir, "choose.py")
	if err := os.WriteFile(script, choose, 0o600); err != nil {
		return nil, err
	}
	argv := slices.Concat([]string{script, filepath.Join(dir, "cache"), c.Date, strconv.Itoa(c.Packages), strings.Join(c.Asked, ",")}, c.From)
	cmd := exec.CommandContext(ctx, "/usr/bin/python3", argv...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("choose the packages of a frozen server: %w: %s", err, &stderr)
	}
	return decode(out)
}

func decode(out []byte) ([]Package, error) {
	var all []Package
	for in := json.NewDecoder(bufio.NewReader(bytes.NewReader(out))); ; {
		var p Package
		switch err := in.Decode(&p); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("read dnf's choice: %w", err)
		}
		all = append(all, p)
	}
}
