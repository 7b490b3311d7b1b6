// Package recipe compiles the lab's programs from the very modules their
// projects publish. A recipe is a small Go module of its own (go.mod and go.sum
// pin every input; its tool lines name the programs) plus the switches that the
// project's release builds use. The result is a directory of programs; what is
// in them depends on the recipe and the Go release only.
package recipe

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Recipe says how one upstream's programs are compiled.
type Recipe struct {
	Name     string
	Dir      string            // the module, relative to the lab's module root
	Packages []string          // what "go build" is asked for
	Cgo      bool              // link statically against the C library
	Tags     []string          // build tags
	Stamp    map[string]string // variables set by the linker: the version's name in the program
	Rename   map[string]string // program as Go calls it: as its project does
	C        []C

	// Dlopen links against the C library of where the program runs: it loads a library
	// of the host's, and starts where that lacks or has not all functions.
	Dlopen bool `json:",omitempty"`
}

// C is a program that a module's project writes in C, compiled statically.
type C struct {
	Program, Module string
	Sources         string // pattern below the module's directory
}

// Build compiles into the directory out, which appears complete or not at all.
func (r Recipe) Build(ctx context.Context, root, out string) error {
	tmp := out + ".tmp"
	if err := os.RemoveAll(tmp); err != nil {
		return err
	}
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return err
	}
	if err := r.compile(ctx, root, tmp); err != nil {
		return err
	}
	for _, c := range r.C {
		if err := c.compile(ctx, filepath.Join(root, r.Dir), tmp); err != nil {
			return err
		}
	}
	for from, to := range r.Rename {
		if err := os.Rename(filepath.Join(tmp, from), filepath.Join(tmp, to)); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	return os.Rename(tmp, out)
}

func (r Recipe) compile(ctx context.Context, root, out string) error {
	args := append([]string{"build"}, r.flags()...)
	args = append(args, "-o", out+"/")
	cmd := exec.CommandContext(ctx, "go", append(args, r.Packages...)...)
	cmd.Dir = filepath.Join(root, r.Dir)
	cmd.Env = append(os.Environ(), r.environment()...)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("run go build in %s: %w\n%s", r.Dir, err, lastLines(log.String(), 20))
	}
	return nil
}

// compile uses the sources that the recipe in dir pins.
func (c C) compile(ctx context.Context, dir, out string) error {
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", c.Module)
	list.Dir = dir
	module, err := list.Output()
	if err != nil {
		return fmt.Errorf("find the sources of %s: %w", c.Program, err)
	}
	sources, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(module)), c.Sources))
	if err != nil {
		return fmt.Errorf("find the sources of %s: %w", c.Program, err)
	}
	if len(sources) == 0 {
		return fmt.Errorf("find the sources of %s: none in %s", c.Program, c.Sources)
	}
	args := append([]string{"-std=c99", "-O2", "-static", "-s", "-o", filepath.Join(out, c.Program)}, sources...)
	if log, err := exec.CommandContext(ctx, "gcc", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("run gcc for %s: %w\n%s", c.Program, err, lastLines(string(log), 20))
	}
	return nil
}

func (r Recipe) flags() []string {
	link := []string{"-s -w"}
	if r.Cgo {
		link = append(link, "-extldflags -static")
	}
	if r.Dlopen {
		link = append(link, "-extldflags=-Wl,-z,lazy")
	}
	for _, name := range sortedKeys(r.Stamp) {
		link = append(link, "-X "+name+"="+r.Stamp[name])
	}
	flags := []string{"-trimpath", "-mod=readonly", "-buildvcs=false", "-ldflags", strings.Join(link, " "),
		"-gcflags=all=-dwarf=false", // -w would throw it away: not making it saves a tenth of the time
	}
	if len(r.Tags) > 0 {
		flags = append(flags, "-tags", strings.Join(r.Tags, ","))
	}
	return flags
}

// environment pins what would otherwise come from the developer's shell.
func (r Recipe) environment() []string {
	cgo := "CGO_ENABLED=0"
	if r.Cgo || r.Dlopen {
		cgo = "CGO_ENABLED=1"
	}
	return []string{cgo, "GOFLAGS=", "GOWORK=off", "GOOS=linux", "GOARCH=amd64"}
}
