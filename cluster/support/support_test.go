package support

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"airgap.dev/airgap/cluster/support/supporttest"
	"airgap.dev/airgap/internal/redact"
)

var about = About{Host: "node1.bank/..", Time: time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC), Program: "1.2.3", By: "root on node1", Notes: []string{"It was not root."}}

func saying(text string) func(context.Context, io.Writer) error {
	return func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

func part(name string, write func(context.Context, io.Writer) error) Part {
	return Part{Name: name, Title: "Title of " + name, Limit: time.Minute, Room: 1 << 20, Write: write}
}

// unpacked returns the files of an archive by their names below its directory.
func unpacked(t testing.TB, data []byte) map[string]string {
	t.Helper()
	dir, files := supporttest.Unpack(t, data)
	if dir != about.Name() {
		t.Errorf("the directory is %s", dir)
	}
	return files
}

func written(t testing.TB, r *redact.Redactor, parts ...Part) (map[string]string, Contents, int) {
	t.Helper()
	var out bytes.Buffer
	var told []File
	c, err := Write(t.Context(), &out, about, r, parts, func(f File) { told = append(told, f) })
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(told, c.Files) || len(told) != len(parts) {
		t.Errorf("done was called for %v, wrote %v", told, c.Files)
	}
	return unpacked(t, out.Bytes()), c, out.Len()
}

// TestWrite: parts of each state, and the three files that describe them.
func TestWrite(t *testing.T) {
	lines := strings.Repeat("an old line\n", 1000) + "the newest line\n"
	log := part("logs/kubelet.log", saying(lines))
	log.Log, log.Room = true, 500
	document := part("host/rules.txt", saying("the first rule\n"+lines))
	document.Room = 500
	files, c, _ := written(t, redact.New(nil),
		part("status.txt", saying("fine\n")), log, document,
		part("host/gpu.txt", func(context.Context, io.Writer) error { return NotPresent("there is no GPU") }),
		part("empty.txt", saying("")),
		part("lost.txt", func(context.Context, io.Writer) error {
			return errors.New("ask <b>etcd</b>:\nno answer, password=hunter2")
		}),
		part("half.txt", func(_ context.Context, w io.Writer) error {
			fmt.Fprintln(w, "a beginning")
			return errors.New("it broke")
		}),
		part("half.json", func(_ context.Context, w io.Writer) error {
			fmt.Fprintln(w, "{}")
			return errors.New("it broke")
		}),
		part("panic.txt", func(context.Context, io.Writer) error { panic("a bug") }),
	)
	for name, want := range map[string]string{
		"status.txt":       `^fine\n$`,
		"logs/kubelet.log": `^=== airgap: cut: the newest 4\d\d B of 12\.0 kB ===\nan old line\n(an old line\n)+the newest line\n$`,
		"host/rules.txt":   `^the first rule\n(an old line\n)+an? ?[a-z ]*\n=== airgap: cut: the first 500 B of 12\.0 kB ===\n$`,
		"half.txt":         `^a beginning\n=== airgap: incomplete: it broke ===\n$`,
		"half.json":        `^\{\}\n$`,
		"README.txt": `(?s)^host      node1.bank/\.\.\ntime      2026-11-23T08:00:00Z\n.*NOTE: It was not root.\nRemoved secrets: 1 × field.\n.*\nComplete:\n  status.txt .*\nPartial:` +
			`\n.*half.txt .*it broke\n.*\nNot collected because of an error:\n  lost.txt +- +Title of lost.txt +ask <b>etcd</b>: no answer, ` +
			`password=\[redacted:field\]\n.*this is a bug in airgap: a bug.*\nNot present on this host:\n  host/gpu.txt.*there is no GPU`,
		"index.html": `(?s)<a href="logs/kubelet.log">logs/kubelet.log</a></td><td>\d+ B</td><td class="cut">cut</td>.*<td>lost.txt</td><td>-</td><td class="missing">.*ask &lt;b&gt;etcd`,
	} {
		if !regexp.MustCompile(want).MatchString(files[name]) {
			t.Errorf("%s is\n%s\nwant %s", name, files[name], want)
		}
		delete(files, name)
	}
	var read Contents
	if err := json.Unmarshal([]byte(files["contents.json"]), &read); err != nil || !slices.Equal(read.Files, c.Files) || read.Host != about.Host || read.Redacted[redact.Field] != 1 {
		t.Errorf("contents.json: %v, %+v", err, read)
	}
	if len(files) != 1 {
		t.Errorf("unexpected files: %v", files)
	}
	var states []string
	for _, f := range c.Files {
		states = append(states, string(f.State))
	}
	if want := "whole cut cut none none missing incomplete incomplete missing"; strings.Join(states, " ") != want {
		t.Errorf("states %v, want %s", states, want)
	}
}

// TestPageNeedsNothing: index.html has no scripts and no external resources.
func TestPageNeedsNothing(t *testing.T) {
	files, _, _ := written(t, redact.New(nil), part("a.txt", saying("a")))
	if found := regexp.MustCompile(`(?i)<script|https?:|src=|@import|url\(`).FindString(files["index.html"]); found != "" {
		t.Errorf("the page has %q", found)
	}
}

// TestHang: a part that hangs delays the others only until its limit, even if it ignores its context. Its later
// writes fail.
func TestHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		late := make(chan error, 1)
		hangs := part("hangs.txt", func(_ context.Context, w io.Writer) error {
			fmt.Fprintln(w, "in time")
			<-release
			_, err := io.WriteString(w, strings.Repeat("too late\n", 1000))
			late <- err
			return err
		})
		heeds := part("heeds.txt", func(ctx context.Context, w io.Writer) error {
			fmt.Fprintln(w, "in time")
			<-ctx.Done()
			return ctx.Err()
		})
		began := time.Now()
		files, c, _ := written(t, redact.New(nil), hangs, heeds, part("a.txt", saying("a")))
		if took := time.Since(began); took != time.Minute+grace {
			t.Errorf("it took %s", took)
		}
		if files["hangs.txt"] != "in time\n=== airgap: incomplete: no answer within 1m0s ===\n" ||
			!strings.HasPrefix(files["heeds.txt"], "in time\n=== airgap: incomplete: stopped after 1m0s: ") || files["a.txt"] != "a" {
			t.Errorf("got %q, %+v", files, c.Files)
		}
		close(release)
		if err := <-late; !errors.Is(err, errTooLate) {
			t.Errorf("writing too late: %v", err)
		}
	})
}

// TestMaxSize: parts that do not compress are shortened until all parts fit, and the archive still contains small
// parts at the end of the list. The fake clock keeps slow compression from reaching the limits, which TestHang tests.
func TestMaxSize(t *testing.T) { synctest.Test(t, maxSize) }

func maxSize(t *testing.T) {
	random := rand.NewChaCha8([32]byte{})
	noise := func(n int) string {
		bytes := make([]byte, n*3/4)
		_, _ = random.Read(bytes)
		return strings.ReplaceAll(base64.StdEncoding.EncodeToString(bytes), "/", "\n")
	}
	var parts []Part
	for i := range 7 {
		p := part(fmt.Sprintf("logs/%d.log", i), saying(noise(5<<20)+"\nthe newest of it\n"))
		p.Log, p.Room = i%2 == 0, 8<<20
		parts = append(parts, p)
	}
	files, c, size := written(t, redact.New(nil), append(parts, part("z.txt", saying("still here")))...)
	if size > MaxSize || size < MaxSize*3/4 {
		t.Errorf("the archive has %d bytes", size)
	}
	if !strings.HasSuffix(files["logs/6.log"], "the newest of it\n") && files["logs/6.log"] != "" || files["z.txt"] != "still here" || !strings.Contains(files["README.txt"], "the newest ") {
		t.Errorf("%+v", c.Files)
	}
}

// TestGate: known secrets are also removed from titles, reasons and notes.
func TestGate(t *testing.T) {
	const secret = "k0nwnS3cr3tOfThisHost"
	var b redact.Book
	b.Add([]byte(secret))
	p := part("a.txt", func(_ context.Context, w io.Writer) error {
		fmt.Fprintf(w, "harmless %s %s %s", secret, hex.EncodeToString([]byte(secret)), base64.StdEncoding.EncodeToString([]byte(secret)))
		return errors.New("no " + secret)
	})
	p.Title = secret
	files, c, _ := written(t, redact.New(&b), p)
	for name, text := range files {
		for _, form := range []string{secret, hex.EncodeToString([]byte(secret)), base64.StdEncoding.EncodeToString([]byte(secret))} {
			if strings.Contains(text, form) {
				t.Errorf("%s contains the secret:\n%s", name, text)
			}
		}
	}
	if !strings.HasPrefix(files["a.txt"], "harmless [redacted:known] [redacted:known] [redacted:known]") || c.Redacted[redact.Known] < 4 {
		t.Errorf("a.txt is %q; %v", files["a.txt"], c.Redacted)
	}
}

// TestInterrupted: Write returns an error after Ctrl-C and on a full disk.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	waits := part("a.txt", func(ctx context.Context, _ io.Writer) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	})
	if _, err := Write(ctx, io.Discard, about, redact.New(nil), []Part{waits, waits}, func(File) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := Write(t.Context(), full{}, about, redact.New(nil), []Part{part("a.txt", saying("a"))}, func(File) {}); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("got %v", err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }
