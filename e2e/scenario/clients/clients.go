// Package clients has the scenarios of other projects' registry clients, which pull from airgap's
// registry, copy images out of it and push to it, and of the specification's own tests.
package clients

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"airgap.dev/airgap/e2e/scenario"
)

// object is content of airgap's registry.
type object struct {
	name, from string
	index      bool   // the client gets an index
	referrer   string // digest of a manifest that refers to it; "": none
}

// trial is one client with one object and one verb.
type trial struct {
	*site
	client
	object

	verb, script string
	to           string // HOST:PORT/NAME:TAG of the result; "": the client keeps it
}

// Clients runs all verbs of all clients, prints a table and reports all failures together.
func Clients(ctx context.Context, e *scenario.Env) error {
	var s *site
	var failed []error
	objects := []object{
		{name: "image", from: "docker.io/library/hello:1.0"}, {name: "index", from: "quay.io/lab/tools:1.0"},
		{name: "own-index", from: ownIndex, index: true}, {name: "artifact", from: ownArtifact},
	}
	parts := []scenario.Part{
		{Title: "a bundle and two registries", Run: func() (err error) { s, err = newSite(ctx, e); return err }},
		{Title: "an index and an artifact are pushed", Run: func() (err error) {
			objects[3].referrer, err = s.seed(ctx)
			return err
		}},
		{Title: "the clients are built", Run: func() error { return s.buildPrograms(ctx) }},
	}
	for _, c := range all() {
		parts = append(parts, scenario.Part{Title: c.name, Run: func() error {
			failed = append(failed, s.playClient(ctx, c, objects)...)
			return ctx.Err()
		}})
	}
	parts = append(parts,
		scenario.Part{Title: "indexes without some platforms", Run: func() error {
			failed = append(failed, s.sparse(ctx)...)
			return ctx.Err()
		}},
		scenario.Part{Title: "results", Run: func() error { return errors.Join(failed...) }})
	err := e.InOrder(parts)
	if s != nil {
		err = errors.Join(err, s.stop())
	}
	return err
}

// playClient plays one row of the table for each object.
func (s *site) playClient(ctx context.Context, c client, objects []object) (failed []error) {
	if absent := slices.DeleteFunc(slices.Clone(c.programs), s.has); len(absent) > 0 {
		return []error{fmt.Errorf("%s: install the packages of e2e/debian-packages.txt: missing %s", c.name, strings.Join(absent, ", "))}
	}
	dir, err := os.MkdirTemp(s.Work, c.name)
	if err != nil {
		return []error{err}
	}
	defer os.RemoveAll(dir)
	if c.start != nil {
		before := len(s.running)
		if err := c.start(ctx, s, dir); err != nil {
			return []error{fmt.Errorf("start %s: %w", c.name, err)}
		}
		defer s.stopFrom(before)
	}
	for _, o := range objects {
		do, why := c.verbs(o), ""
		if o.index {
			why = c.onePlatform
		}
		var line strings.Builder
		fmt.Fprintf(&line, "  %-10s %-10s", c.name, o.name)
		for _, t := range []trial{
			{s, c, o, "pull", do.pull, ""},
			{s, c, o, "copy", do.copy, s.theirs + "/" + c.name + "/" + o.name + ":1"},
			{s, c, o, "push", do.push, s.ours + "/team/" + c.name + "/" + o.name + ":1"},
		} {
			state := "ok"
			if t.script == "" {
				state, why = "-", c.noArtifacts
			} else if err := t.play(ctx, dir); err != nil {
				state = "FAILED"
				failed = append(failed, fmt.Errorf("%s: %s of %s: %w", c.name, t.verb, o.name, err))
			}
			fmt.Fprintf(&line, " %s %-7s", t.verb, state)
		}
		fmt.Fprintln(s.Log, line.String()+why)
	}
	return failed
}

// verbs are the client's scripts for an object.
func (c client) verbs(o object) verbs {
	switch {
	case o.referrer != "":
		return c.artifact
	case o.index && c.index.push != "":
		return c.index
	}
	return c.image
}

// play runs the client, and checks its result with go-containerregistry.
func (t trial) play(ctx context.Context, dir string) error {
	if err := t.shell(ctx, dir, t.script); err != nil {
		return err
	}
	if t.to == "" {
		return nil
	}
	digest, err := t.complete(ctx, t.to)
	if err != nil {
		return err
	}
	want, err := t.complete(ctx, t.ours+"/"+t.from)
	switch {
	case err == nil && t.same && digest != want:
		err = fmt.Errorf("%s is %s, want %s", t.to, digest, want)
	case err == nil && !t.same:
		err = t.sameLayers(ctx, t.ours+"/"+t.from, t.to, t.onePlatform == "")
	}
	if err != nil || t.referrer == "" {
		return err
	}
	if _, err := t.complete(ctx, repository(t.to)+"@"+t.referrer); err != nil {
		return fmt.Errorf("the referrer of %s: %w", t.to, err)
	}
	lists, err := t.refers(ctx, t.to, digest, t.referrer)
	if err == nil && !lists && (t.verb == "push" || t.lists) {
		err = fmt.Errorf("%s does not list the referrer", t.to)
	}
	return err
}

func repository(ref string) string { return ref[:strings.LastIndexByte(ref, ':')] }

// shell runs a script with the client's environment.
func (t trial) shell(ctx context.Context, dir, script string) error {
	cmd := exec.CommandContext(ctx, "sh", "-euc", script)
	if t.engine {
		cmd = t.inEngines(ctx, script)
	}
	cmd.Dir = dir
	cmd.Env = append(cmd.Env, t.environment(dir)...)
	cmd.Env = append(cmd.Env,
		"FROM="+t.ours+"/"+t.from, "TO="+t.to, "LOCAL="+t.object.name, "REFERRER="+t.referrer, "PROGRAMS="+filepath.Join(t.bin(), t.dir),
		"FROM_NAME="+repository(t.ours+"/"+t.from))
	if t.to != "" {
		cmd.Env = append(cmd.Env, "TO_NAME="+repository(t.to))
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", script, err, out)
	}
	return nil
}

// environment has the certificates, the login and the programs. The proxy of the caller's environment
// is not for loopback.
func (s *site) environment(dir string) []string {
	return append(os.Environ(),
		"SSL_CERT_FILE="+s.ca, "DOCKER_CONFIG="+s.logins, "REGISTRY_AUTH_FILE="+filepath.Join(s.logins, "config.json"),
		"PATH="+s.bin()+":"+os.Getenv("PATH"), "HOME="+dir, "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1")
}

// bin is the directory of programs that the lab built.
func (s *site) bin() string { return filepath.Join(s.Cache, "bin") }

// has reports whether a program is on this machine.
func (s *site) has(program string) bool {
	if info, err := os.Stat(filepath.Join(s.bin(), program)); err == nil && info.Mode().IsRegular() {
		return true
	}
	_, err := exec.LookPath(program)
	return err == nil
}

// stopFrom ends the programs that were started after the first ones.
func (s *site) stopFrom(first int) {
	kept := s.running[:first]
	s.running = s.running[first:]
	_ = s.stop() // a program that has ended is the failure of its verbs
	s.running = kept
}

// sparse pushes indexes without some of their manifests, which clients do on request.
func (s *site) sparse(ctx context.Context) (failed []error) {
	for name, script := range map[string]string{
		"regctl": `regctl image copy --platforms linux/amd64 "$FROM" "$TO"`,
		"skopeo": `skopeo copy --multi-arch index-only --preserve-digests "docker://$FROM" "docker://$TO"`,
	} {
		t := trial{s, client{name: name}, object{name: "own-index", from: ownIndex}, "push", script, s.ours + "/team/" + name + "/sparse:1"}
		dir, err := os.MkdirTemp(s.Work, name)
		if err == nil {
			err = errors.Join(t.shell(ctx, dir, script), s.sameDigest(ctx, t.ours+"/"+t.from, t.to), os.RemoveAll(dir))
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: a sparse index: %w", name, err))
		}
	}
	return failed
}
