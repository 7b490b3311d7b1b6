package gates

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"airgap.dev/airgap/e2e/scenario"
)

// lastPart is the only part of the lab's bundle.
const lastPart = "bundle.tar.000"

// passed plays a gate that changes a copy of the bundle.
func passed(change func(dir string) error) func(context.Context, *stage) (scenario.Result, error) {
	return func(ctx context.Context, s *stage) (scenario.Result, error) {
		dir, err := s.copied()
		if err == nil {
			err = change(dir)
		}
		if err != nil {
			return scenario.Result{}, err
		}
		return s.inspected(ctx, dir)
	}
}

// edited plays a gate that changes one file.
func edited(name string, change func([]byte) []byte) func(context.Context, *stage) (scenario.Result, error) {
	return passed(func(dir string) error { return replaceFile(filepath.Join(dir, name), change) })
}

func removed(name string) func(context.Context, *stage) (scenario.Result, error) {
	return passed(func(dir string) error { return os.Remove(filepath.Join(dir, name)) })
}

func addCRLF(text []byte) []byte {
	return bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
}

func flipBit(text []byte) []byte {
	text[len(text)/2] ^= 0x10
	return text
}

// upperCase renames all files, as an old file system does.
func upperCase(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		err = errors.Join(err, os.Rename(filepath.Join(dir, e.Name()), filepath.Join(dir, strings.ToUpper(e.Name()))))
	}
	return err
}

// junk adds the files of desktops.
func junk(dir string) error {
	err := os.Mkdir(filepath.Join(dir, "System Volume Information"), 0o755)
	for _, name := range []string{"._bundle.json", "._" + lastPart, ".DS_Store", "Thumbs.db", "desktop.ini"} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte("junk"), 0o644))
	}
	return err
}

// reordered copies the files in another order, with other times and modes.
func reordered(dir string) error {
	entries, err := os.ReadDir(dir)
	slices.Reverse(entries)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		err = errors.Join(err, run(context.Background(), "cp", "--no-preserve=all", path, path+".new"), os.Remove(path), os.Rename(path+".new", path))
	}
	return err
}

// rezipped packs the directory as a portal does, and unpacks it.
func rezipped(ctx context.Context, s *stage) (scenario.Result, error) {
	if err := program("zip", "unzip"); err != nil {
		return scenario.Result{}, err
	}
	dir, err := s.copied()
	if err != nil {
		return scenario.Result{}, err
	}
	zip, out := filepath.Join(s.dir, "upload.zip"), filepath.Join(s.dir, "unzipped")
	if err := errors.Join(run(ctx, "zip", "-q", "-r", "-1", "-j", zip, dir), run(ctx, "unzip", "-q", zip, "-d", out)); err != nil {
		return scenario.Result{}, err
	}
	return s.inspected(ctx, out)
}

func gateTrials() []trial {
	return []trial{
		{"files in another order, with other modes", passed(reordered), 0, []string{"every byte verified"}},
		{"zipped by a portal", rezipped, 0, []string{"every byte verified"}},
		{"junk of desktops", passed(junk), 0, []string{"every byte verified"}},
		{"names in upper case", passed(upperCase), 0, []string{"BUNDLE.JSON", "every byte verified"}},
		{"a part is dropped", removed(lastPart), 1, []string{lastPart, "missing", "copy the missing part"}},
		{"a part is truncated at a limit", passed(func(dir string) error {
			path := filepath.Join(dir, lastPart)
			return errors.Join(run(context.Background(), "cp", path, path+".new"), os.Rename(path+".new", path), os.Truncate(path, 50<<20))
		}), 1, []string{lastPart, "has 52428800 bytes"}},
		{"content disarm changes a part", edited(lastPart, flipBit), 1, []string{lastPart, "chunk"}},
		{"CRLF in INSTALL.txt", edited("INSTALL.txt", addCRLF), 0, []string{"altered", "INSTALL.txt", "every byte verified"}},
		{"a banner in the documentation", edited("docs.html", func(text []byte) []byte { return append([]byte("<!-- scanned -->\n"), text...) }), 0, []string{"altered", "docs.html"}},
		{"the documentation is removed", removed("docs.ko.html"), 0, []string{"altered", "docs.ko.html"}},
		{"CRLF in SHA256SUMS", edited("SHA256SUMS", addCRLF), 1, []string{"SHA256SUMS", "CRLF"}},
		{"the program is removed", removed("airgap"), 1, []string{"airgap", "missing"}},
		{"the package of airgap is changed", edited("airgap.rpm", flipBit), 1, []string{"airgap.rpm"}},
		{"the RPM key is changed", edited("RPM-GPG-KEY-airgap", flipBit), 1, []string{"RPM-GPG-KEY-airgap"}},
		{"the index is changed", edited("bundle.json", flipBit), 1, []string{"bundle.json"}},
		{"the signature is removed", removed("SHA256SUMS.sig"), 1, []string{"signature is missing"}},
		{"a page in place of the signature", edited("SHA256SUMS.sig", func([]byte) []byte { return []byte(blockPage)[:90] }), 1, []string{"signature is wrong"}},
	}
}
