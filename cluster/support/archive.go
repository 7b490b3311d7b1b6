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

// About says of which host an archive is, and who made it.
type About struct {
	Host    string    `json:"host"`
	Time    time.Time `json:"time"`    // UTC, by the host's clock
	Program string    `json:"program"` // version of airgap
	By      string    `json:"by"`      // USER on HOST
	Notes   []string  `json:"notes"`   // what whoever reads it has to know
}

// Name is that of the archive without its ending, and of the directory in it.
func (a About) Name() string {
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
			return r
		}
		return '_'
	}, a.Host)
	return "airgap-support-" + safe + "-" + a.Time.UTC().Format("20060102T150405Z")
}

// Contents is what an archive holds.
type Contents struct {
	About
	Files    []File              `json:"files"`
	Redacted map[redact.Kind]int `json:"redacted"` // how often each kind was taken out
}

// Write collects the parts into an archive. done is told of each.
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

// archive is a tar.gz that knows its size.
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

// reserved are the bytes for the files that say what is in the archive.
const reserved = 500_000

// least is the text for which it is worth it to shorten a part.
const least = 4 << 10

// put adds a part, shortened where there is no more room.
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

// told is the text of a part, with a line of ours where it is not whole.
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
	case k.left == 0 && (ext == ".json" || ext == ".yaml"): // which it would be no more
		return k.text
	default:
		return slices.Concat(bytes.TrimRight(k.text, "\n"), []byte("\n"+line))
	}
}

// fits reports whether there is room for a text, in any case or by trying.
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

// add is the last gate: what goes in has none of the host's own secrets.
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
		return fmt.Errorf("the archive has %s, more than %s: airgap counted wrongly", ui.Size(int64(a.size.n)), ui.Size(MaxSize))
	}
	return nil
}
