package support

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/internal/redact"
	"airgap.dev/airgap/internal/ui"
)

// About has the host of an archive, and the user and program that created it.
type About struct {
	Host    string    `json:"host"`
	Time    time.Time `json:"time"`    // UTC, by the host's clock
	Program string    `json:"program"` // version of airgap
	By      string    `json:"by"`      // USER on HOST
	Notes   []string  `json:"notes"`   // limits of the archive that a reader must know
}

// Name returns the name of the archive without .tar.gz. The directory in the archive has the same name.
func (a About) Name() string {
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
			return r
		}
		return '_'
	}, a.Host)
	return "airgap-support-" + safe + "-" + a.Time.UTC().Format("20060102T150405Z")
}

// Contents lists the files of an archive and the number of removed secrets.
type Contents struct {
	About
	Files    []File              `json:"files"`
	Redacted map[redact.Kind]int `json:"redacted"` // number of removed secrets of each kind
}

// Write collects the parts into an archive. It calls done after each.
func Write(ctx context.Context, w io.Writer, about About, r *redact.Redactor, parts []Part, done func(File)) (Contents, error) {
	c := Contents{About: about, Files: []File{}}
	a := newArchive(w, about, r)
	err := collect(ctx, r, parts, func(one collected) error {
		f, err := a.put(one)
		if err != nil {
			return err
		}
		c.Files = append(c.Files, f)
		done(f)
		return nil
	})
	if err != nil {
		return c, err
	}
	c.Redacted = r.Counts()
	for _, own := range c.own() {
		var text bytes.Buffer
		if err := own.write(&text); err != nil {
			return c, fmt.Errorf("write %s: %w", own.name, err)
		}
		if err := a.add(own.name, text.Bytes()); err != nil {
			return c, err
		}
	}
	return c, a.close()
}

// archive is a tar.gz that counts its size.
type archive struct {
	about    About
	redactor *redact.Redactor
	size     counter
	zip      *gzip.Writer
	tar      *tar.Writer
}

type counter struct {
	w io.Writer
	n int
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += n
	return n, err
}

func newArchive(w io.Writer, about About, r *redact.Redactor) *archive {
	a := &archive{about: about, redactor: r, size: counter{w: w}}
	a.zip = gzip.NewWriter(&a.size)
	a.tar = tar.NewWriter(a.zip)
	return a
}

// reserved is the number of bytes for the files that describe the archive.
const reserved = 500_000

// least is the size in bytes below which a part is left out instead of shortened.
const least = 4 << 10

// put adds a part. It shortens the part if the archive has too little space.
func (a *archive) put(c collected) (File, error) {
	f, kept := c.File, c.kept
	for len(kept.text) > 0 && !a.fits(kept.text) {
		if len(kept.text) < least {
			f.State, f.Why, kept.text = Missing, "the archive is full", nil
			break
		}
		kept.shorten()
		f.Left = kept.left
		if f.State == Whole {
			f.State = Cut
		}
	}
	if f.State == Cut {
		f.Why = cutWords(kept)
	}
	text := told(f, kept)
	if f.Bytes = len(text); f.Bytes == 0 {
		return f, nil
	}
	return f, a.add(f.Name, text)
}

func cutWords(k *keeper) string {
	which := "the first "
	if k.end {
		which = "the newest "
	}
	return which + ui.Size(int64(len(k.text))) + " of " + ui.Size(int64(len(k.text))+k.left)
}

// told returns the text of a part. If the text is not complete, it has an additional line with the reason.
func told(f File, k *keeper) []byte {
	if f.Why == "" || len(k.text) == 0 {
		return k.text
	}
	line := fmt.Sprintf("=== airgap: %s: %s ===\n", f.State, f.Why)
	if k.left > 0 && f.State != Cut {
		line += fmt.Sprintf("=== airgap: cut: %s ===\n", cutWords(k))
	}
	switch ext := path.Ext(f.Name); {
	case k.end:
		return slices.Concat([]byte(line), k.text)
	case k.left == 0 && (ext == ".json" || ext == ".yaml"): // the line would make it invalid
		return k.text
	default:
		return slices.Concat(bytes.TrimRight(k.text, "\n"), []byte("\n"+line))
	}
}

// fits reports whether the archive has space for a text. If the uncompressed size is too large, it measures the
// compressed size.
func (a *archive) fits(text []byte) bool {
	room := MaxSize - reserved - a.size.n
	if worst := len(text) + len(text)/1000 + 4<<10; worst <= room {
		return true
	}
	tried := counter{w: io.Discard}
	z := gzip.NewWriter(&tried)
	if _, err := z.Write(text); err != nil {
		return false
	}
	return z.Close() == nil && tried.n+4<<10 <= room
}

// add adds a file. It is the last filter: it removes the host's own secrets from every file.
func (a *archive) add(name string, text []byte) error {
	var clean bytes.Buffer
	gate := a.redactor.Gate(&clean)
	_, err := gate.Write(text)
	if err = errors.Join(err, gate.Close()); err != nil {
		return err
	}
	head := &tar.Header{
		Typeflag: tar.TypeReg, Name: path.Join(a.about.Name(), name), Mode: 0o600,
		Size: int64(clean.Len()), ModTime: a.about.Time.UTC().Truncate(time.Second), Format: tar.FormatPAX,
	}
	if err := a.tar.WriteHeader(head); err != nil {
		return err
	}
	if _, err := a.tar.Write(clean.Bytes()); err != nil {
		return err
	}
	if err := a.tar.Flush(); err != nil {
		return err
	}
	return a.zip.Flush() // so that the size is known
}

func (a *archive) close() error {
	if err := errors.Join(a.tar.Close(), a.zip.Close()); err != nil {
		return err
	}
	if a.size.n > MaxSize {
		return fmt.Errorf("write the archive: it has %s, the limit is %s; this is a bug in airgap", ui.Size(int64(a.size.n)), ui.Size(MaxSize))
	}
	return nil
}
