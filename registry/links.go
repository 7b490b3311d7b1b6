package registry

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/registry/files"
	"airgap.dev/airgap/registry/ledger"
)

// openLedger opens the ledger next to the engine's tree. hidden are the reserved repositories with
// pushed images, which are not served.
func openLedger(s storage, log *slog.Logger) (l *ledger.Ledger, hidden []string, err error) {
	links, hidden, err := scanLinks(s, func(path string, err error) {
		log.Error("a link is damaged", "path", path, "error", err.Error()) // another host may send it again
	})
	if err != nil {
		return nil, nil, fmt.Errorf("open registry's ledger: %w", err)
	}
	l, err = ledger.Open(s.files, ledger.Content{Links: links, Reserved: s.reserved.has}, log)
	return l, hidden, err
}

// maxLink is a size limit for link files. A digest is shorter.
const maxLink = 1 << 10

// scanLinks returns the engine's links to manifests, with the times of their files. hidden are the
// reserved repositories that contain links. damaged is called for each invalid link, and for each
// file that the engine does not write.
func scanLinks(s storage, damaged func(path string, err error)) (found ledger.Records, hidden []string, err error) {
	found = ledger.Records{}
	root, err := fs.Sub(s.files.FS(), files.Local(engineRoot+"/repositories"))
	if err != nil {
		return nil, nil, err
	}
	err = fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if !d.Type().IsRegular() {
			damaged(path, errors.New("it is not a file or directory"))
			return nil
		}
		at, ok := parseLink(path)
		if !ok {
			return nil
		}
		if s.reserved.has(at.Repository) {
			hidden = append(hidden, at.Repository)
			return nil
		}
		record, err := readLink(s.files, files.Local(engineRoot+"/repositories/"+path))
		if err != nil {
			damaged(path, err)
			return nil
		}
		found.Set(at, record)
		return nil
	})
	if host.IgnoreMissing(err) != nil {
		return nil, nil, fmt.Errorf("%s: %w", s.file(engineRoot+"/repositories"), err)
	}
	return found, slices.Compact(hidden), nil // WalkDir sorts
}

func readLink(files *host.Owned, name string) (ledger.Record, error) {
	content, err := files.ReadFile(name, maxLink)
	if err != nil {
		return ledger.Record{}, err
	}
	info, err := files.Stat(name)
	if err != nil {
		return ledger.Record{}, err
	}
	to, err := parseDigest(string(content))
	return ledger.Record{Digest: to, Time: info.ModTime().UTC()}, err
}

// parseLink parses NAME/_manifests/tags/TAG/current/link and
// NAME/_manifests/revisions/sha256/HEX/link.
func parseLink(path string) (ledger.Reference, bool) {
	name, rest, _ := strings.Cut(path, "/_manifests/")
	parts := strings.Split(rest, "/")
	switch {
	case len(parts) != 4 || parts[3] != "link":
	case parts[0] == "tags" && parts[2] == "current":
		return ledger.Reference{Repository: name, Reference: parts[1]}, true
	case parts[0] == "revisions":
		return ledger.Reference{Repository: name, Reference: parts[1] + ":" + parts[2]}, true
	}
	return ledger.Reference{}, false
}
