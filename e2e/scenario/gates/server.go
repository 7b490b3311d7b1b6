package gates

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
)

// oneServer edits airgap.yaml: no worker.
var oneServer = []string{"  - {name: node2, address: 10.88.0.12, roles: [worker]}\n", ""}

// visit installs a server from media that came through a gate: the first site's bundle in parts on two media, the
// second site's bundle without the files of the first one, altered documentation and junk of desktops on all of them.
func visit(ctx context.Context, s *stage) error {
	media := filepath.Join(s.Work, "media")
	return s.WithServers(ctx, 1, func(l *lab.Lab) error {
		m := l.Machines[0]
		var second string
		return s.InOrder([]scenario.Part{
			{Title: "survey of a server", Run: func() error { return s.Survey(ctx, m) }},
			{Title: "two sites on one drive", Run: func() (err error) {
				second, err = s.bothSites(ctx, media)
				return err
			}},
			{Title: "the first bundle on two media", Run: func() error { return twoMedia(media) }},
			{Title: "a gate changes all of them", Run: func() error {
				return errors.Join(gated(filepath.Join(media, "one")), gated(filepath.Join(media, "two")), gated(filepath.Join(media, second)))
			}},
			{Title: "the program, from the drive", Run: func() error { return s.programFrom(ctx, m, media, second) }},
			{Title: "the first bundle, medium by medium", Run: func() error { return s.importBoth(ctx, m) }},
			{Title: "install from the second bundle", Run: func() error { return s.installSecond(ctx, m, lab.StickPath+"/"+second) }},
			{Title: "verify", Run: func() error { return s.Verified(ctx, m) }},
		})
	})
}

// bothSites makes the bundle of another site, and the server's bundle without the files that the first one has. It
// returns the name of its directory.
func (s *stage) bothSites(ctx context.Context, media string) (string, error) {
	first, err := s.Config("first.yaml", append([]string{"name: bank\n", "name: seoul\n", "10.88.0.11", "10.89.0.11"}, oneServer...)...)
	if err != nil {
		return "", err
	}
	second, err := s.Config("second.yaml", oneServer...)
	if err != nil {
		return "", err
	}
	err = errors.Join(
		s.Do(ctx, 0, nil, "bundle", "-f", first, "-o", media, "--part-size", "64MiB"),
		s.Do(ctx, 0, nil, "bundle", "-f", second, "--facts", s.Facts(), "-o", media, "--shared-with", filepath.Join(media, "seoul")))
	if err != nil {
		return "", err
	}
	found, err := filepath.Glob(filepath.Join(media, "bank-delta-*"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("find the second bundle: %v %w", found, err)
	}
	return filepath.Base(found[0]), nil
}

// twoMedia splits the bundle seoul: both media have the files that identify it, and each has half of the others.
func twoMedia(media string) error {
	from := filepath.Join(media, "seoul")
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	to := [2]string{filepath.Join(media, "one"), filepath.Join(media, "two")}
	if err := errors.Join(os.Mkdir(to[0], 0o755), os.Mkdir(to[1], 0o755)); err != nil {
		return err
	}
	for i, e := range entries {
		for side, dir := range to {
			switch e.Name() {
			case "bundle.json", "SHA256SUMS", "SHA256SUMS.sig", "airgap.pub", "INSTALL.txt", "docs.html":
			default:
				if i%2 != side {
					continue
				}
			}
			err = errors.Join(err, os.Link(filepath.Join(from, e.Name()), filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(err, os.RemoveAll(from))
}

// gated changes what a gate may change without harm.
func gated(dir string) error {
	return errors.Join(junk(dir), replaceFile(filepath.Join(dir, "INSTALL.txt"), addCRLF),
		replaceFile(filepath.Join(dir, "docs.html"), func(text []byte) []byte { return append([]byte("<!-- scanned -->\n"), text...) }))
}

func (s *stage) programFrom(ctx context.Context, m lab.Machine, media, bundle string) error {
	if err := m.AttachStick(ctx, media); err != nil {
		return err
	}
	return s.Script(ctx, m,
		"cd "+lab.StickPath+"/"+bundle+" && rpm --import RPM-GPG-KEY-airgap && rpm -K airgap.rpm | grep -q 'digests signatures OK' && rpm -U airgap.rpm")
}

// importBoth imports the media in the wrong order.
func (s *stage) importBoth(ctx context.Context, m lab.Machine) error {
	_, one := s.Must(ctx, m, []string{"seoul is not complete yet", "missing: ", "mount the next medium"}, "airgap", "registry", "import", "--set", lab.StickPath+"/two")
	_, two := s.Must(ctx, m, []string{"seoul is in the store"}, "airgap", "registry", "import", "--set", lab.StickPath+"/one")
	return errors.Join(one, two)
}

func (s *stage) installSecond(ctx context.Context, m lab.Machine, dir string) error {
	r, err := s.Must(ctx, m, []string{"passed"}, "airgap", "preflight", s.Skips(), dir)
	if err != nil {
		return err
	}
	for _, name := range []string{"INSTALL.txt", "docs.html"} {
		if !strings.Contains(r.Stdout+r.Stderr, name) {
			return fmt.Errorf("preflight does not name %s, which a gate changed:\n%s%s", name, r.Stdout, r.Stderr)
		}
	}
	done, err := s.AirgapOn(ctx, m, "", "install", s.Skips(), dir)
	if err == nil && done.Changed == 0 {
		err = fmt.Errorf("install reports %+v", done)
	}
	return err
}
