package scenario

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"

	"airgap.dev/airgap/e2e/execs"
	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/secrets"
)

// An emulated machine has its own kernel, disk and processes. The search reads its small
// files and its processes over SSH, at the end. It does not see programs that have ended
// and keys that were removed before.

// smallDirs are the directories in which secrets could be, without bundles and images.
const smallDirs = "/etc /root /run /tmp /var/tmp /var/log /var/lib/airgap /var/lib/kubelet"

// entries calls take for each file and directory below directories of a server.
func entries(ctx context.Context, m lab.Machine, dirs string, take func(secrets.File, io.Reader) error) error {
	const script = `tar --create --one-file-system --ignore-failed-read --sparse --exclude=/var/lib/airgap/store --file=- $0 2>/dev/null; [ $? -le 1 ]`
	r, w := io.Pipe()
	go func() { w.CloseWithError(m.Exec(ctx, lab.Cmd{Args: []string{"sh", "-c", script, dirs}, Stdout: w})) }()
	defer r.Close()
	archive := tar.NewReader(r)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, r)
			return err
		}
		if err != nil {
			return err
		}
		f := secrets.File{
			Path: filepath.Join("/", header.Name), Mode: header.FileInfo().Mode(),
			UID: uint32(header.Uid), GID: uint32(header.Gid),
		}
		if !f.Mode.IsRegular() && !f.Mode.IsDir() {
			continue
		}
		if err := take(f, archive); err != nil {
			return err
		}
	}
}

// fromInside reads the files that a server sends.
func (j *judging) fromInside(ctx context.Context, m lab.Machine, s *secrets.Search) (files, size int64, err error) {
	buffer := make([]byte, 1<<20)
	err = entries(ctx, m, smallDirs, func(f secrets.File, content io.Reader) error {
		j.passed(f)
		if f.Mode.IsDir() {
			return nil
		}
		var small bytes.Buffer // a copy for a second read
		has, n, err := s.InReader(io.TeeReader(content, &small), buffer)
		files, size = files+1, size+n
		if len(has) > 0 {
			j.found(f, has, func() ([]byte, error) { return small.Bytes(), nil })
		}
		if err == nil && secrets.IsArchive(f.Path) {
			err = j.archive(f, small.Bytes(), s)
		}
		return err
	})
	return files, size, err
}

// archive looks into a support bundle that a server sent.
func (j *judging) archive(f secrets.File, packed []byte, s *secrets.Search) error {
	return secrets.Unpack(bytes.NewReader(packed), func(name string, content io.Reader) error {
		text, err := io.ReadAll(content)
		if has := s.In(text); err == nil && len(has) > 0 {
			within := f
			within.Path = secrets.InArchive(f.Path, name)
			j.found(within, has, func() ([]byte, error) { return text, nil })
		}
		return err
	})
}

// collectInside adds the keys of the emulated machines to the book.
func (g *guard) collectInside(ctx context.Context) error {
	for _, m := range g.inside {
		err := entries(ctx, m, "/etc/airgap /etc/kubernetes /var/lib/kubelet/pki", func(f secrets.File, content io.Reader) error {
			text, err := io.ReadAll(content)
			return errors.Join(err, g.Book.FromFile(m.Name()+":"+f.Path, text))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// runningInside records the running processes of the emulated machines.
func (g *guard) runningInside(ctx context.Context) error {
	const script = `for p in /proc/[0-9]*; do [ -s $p/exe ] || continue; tr '\n' ' ' <$p/cmdline; echo; tr '\n' ' ' <$p/environ; echo; done 2>/dev/null`
	for _, m := range g.inside {
		text, err := lab.Output(ctx, m, "sh", "-c", script)
		if err != nil {
			return err
		}
		lines := strings.Split(text, "\n")
		for i := 0; i+1 < len(lines); i += 2 {
			g.recordExec(m.Name(), execs.Exec{Args: strings.Split(lines[i], "\x00"), Env: strings.Split(lines[i+1], "\x00")})
		}
	}
	return nil
}
