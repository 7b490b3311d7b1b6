// Package recipe compiles the lab's programs from the modules that their projects publish. A
// recipe is a separate small Go module and the build flags of the project's releases. go.mod
// and go.sum pin every input, and the tool lines of go.mod name the programs, unless the module
// has a main package. The result is a directory of programs that depend only on the recipe and the Go release.
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

// Recipe has the build settings of the programs of one upstream project.
type Recipe struct {
	Name     string
	Dir      string            // the module, relative to the lab's module root
	Packages []string          // arguments of "go build"
	Cgo      bool              // link statically against the C library
	Tags     []string          // build tags
	Stamp    map[string]string // variables that the linker sets, such as the version
	Rename   map[string]string // from Go's name of a program to the project's name
	C        []C
	Seconds  int `json:"-"` // compilation without a cache on 2 idle cores, roughly

	// Dlopen links dynamically against the C library of the host. The program loads a library
	// of the host, and also starts if that is missing or does not have all functions.
	Dlopen bool `json:",omitempty"`
}

// C is a program in C in a module. It is linked statically.
type C struct {
	Program, Module string
	Sources         string // pattern below the module's directory
}

// Build compiles into the directory out. After an error, out has its previous content.
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

// Download fetches the modules that Build compiles into Go's module cache.
func (r Recipe) Download(ctx context.Context, root string) error {
	return r.run(ctx, root, "list", "-deps")
}

func (r Recipe) compile(ctx context.Context, root, out string) error {
	return r.run(ctx, root, "build", "-o", out+"/")
}

// run runs a subcommand of go for the recipe's packages. args are its name and its additional flags.
func (r Recipe) run(ctx context.Context, root string, args ...string) error {
	args = append(args, r.flags()...)
	cmd := exec.CommandContext(ctx, "go", append(args, r.Packages...)...)
	cmd.Dir = filepath.Join(root, r.Dir)
	cmd.Env = append(os.Environ(), r.environment()...)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("run go %s in %s: %w\n%s", args[0], r.Dir, err, lastLines(log.String(), 20))
	}
	return nil
}

// compile compiles the sources in the version that the recipe in dir pins.
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
		"-gcflags=all=-dwarf=false", // -w removes DWARF anyway: to skip it saves a tenth of the time
	}
	if len(r.Tags) > 0 {
		flags = append(flags, "-tags", strings.Join(r.Tags, ","))
	}
	return flags
}

// environment sets the variables that would otherwise come from the developer's shell.
func (r Recipe) environment() []string {
	cgo := "CGO_ENABLED=0"
	if r.Cgo || r.Dlopen {
		cgo = "CGO_ENABLED=1"
	}
	return []string{cgo, "GOFLAGS=", "GOWORK=off", "GOOS=linux", "GOARCH=amd64"}
}
