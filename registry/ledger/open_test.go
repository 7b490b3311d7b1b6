package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
)

// TestOpenComparesWithFiles: the registry's files are the truth, except for deletions.
func TestOpenComparesWithFiles(t *testing.T) {
	dir := t.TempDir()
	d, other := digest.FromString("d"), digest.FromString("other")
	early, middle, late := time.Unix(100, 0).UTC(), time.Unix(200, 0).UTC(), time.Unix(300, 0).UTC()
	t.Run("before the crash", func(t *testing.T) {
		l := open(t, dir, nil)
		put := Records{}
		for tag, record := range map[string]Record{
			"same": {d, middle}, "lost": {d, middle}, "moved": {d, middle}, "moved-before": {d, middle}, "deleted": {"", time.Now()}, "pushed-again": {"", middle},
		} {
			put.Set(Reference{"team/app", tag}, record)
		}
		put.Set(Reference{"quay.io/org/app", "1"}, Record{d, middle})
		put.Set(Reference{"quay.io/org/app", "2"}, Record{"", time.Now()})
		must(t, l.write(put, nil))
	})
	links := Records{"team/app": {
		"same": {d, late}, "moved": {other, late}, "moved-before": {other, early}, "pushed-again": {d, late}, "new": {d, early},
	}}
	for range 2 { // the second time, nothing changes
		t.Run("open", func(t *testing.T) {
			l := open(t, dir, links)
			got := l.records(t)
			delete(got["team/app"], "deleted")
			want := Records{"team/app": {
				"same": {d, middle}, "moved": {other, late}, "moved-before": {other, middle.Add(time.Microsecond)}, "pushed-again": {d, late}, "new": {d, early},
			}}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
			if record, known := l.records(t).Get(Reference{"team/app", "deleted"}); !known || !record.Deleted() {
				t.Errorf("the deletion is %v", record)
			}
		})
	}
}

// TestOldLedger: the records of ledger.json, from an earlier version, are taken over once. Also if
// airgap is rolled back to that version and upgraded again, and if Open was interrupted.
func TestOldLedger(t *testing.T) {
	dir := t.TempDir()
	d := digest.FromString("d")
	links, old := Records{}, Records{}
	now := time.Now().UTC().Truncate(time.Second)
	for i := range 3 * writtenAtOnce / 2 {
		at := Reference{"team/app", fmt.Sprint(i)}
		old.Set(at, Record{d, now})
		links.Set(at, Record{d, now.Add(time.Minute)})
	}
	old.Set(Reference{"team/app", "deleted"}, Record{"", now})
	old.Set(Reference{"team/app", "deleted-long-ago"}, Record{"", now.Add(-keepDeletions - time.Hour)})
	old.Set(Reference{"team/app", "lost"}, Record{d, now})
	old.Set(Reference{"quay.io/org/app", "1"}, Record{d, now})
	want := Records{"team/app": maps.Clone(old["team/app"])}
	delete(want["team/app"], "lost")
	delete(want["team/app"], "deleted-long-ago")
	write := func(records Records) {
		t.Helper()
		text, err := json.Marshal(records)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, oldFile), text, 0o600))
	}
	write(old)
	check := func(name string) {
		t.Run(name, func(t *testing.T) {
			l := open(t, dir, links)
			if got := l.records(t); !reflect.DeepEqual(got, want) {
				t.Errorf("%d records, want %d", got.Count(), want.Count())
			}
			if _, err := os.Stat(filepath.Join(dir, oldFile)); !os.IsNotExist(err) {
				t.Errorf("%s: %v", oldFile, err)
			}
		})
	}
	check("converted")
	check("opened again")
	write(old)
	check("interrupted before the old file was removed")
	t.Run("deleted by the earlier version after a rollback", func(*testing.T) {
		later := Record{"", now.Add(time.Hour)}
		write(Records{"team/app": {"1": later}})
		delete(links["team/app"], "1")
		want["team/app"]["1"] = later
	})
	check("upgraded again")
}

func TestDamagedOldLedger(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, oldFile), []byte(`{"team/app": {`), 0o600))
	d := digest.FromString("d")
	l := open(t, dir, Records{"team/app": {"1": {d, time.Unix(1, 0)}}})
	if got := l.digestOf(t, "team/app", "1"); got != d.String() {
		t.Errorf("team/app:1 is %s", got)
	}
	if text, err := os.ReadFile(filepath.Join(dir, oldFile+damagedSuffix)); err != nil || !strings.HasPrefix(string(text), `{"team`) {
		t.Errorf("the damaged file: %q, %v", text, err)
	}
}

// TestDamagedDatabase: with any damage, the ledger has all images of the registry, and opening it
// never ends the process.
func TestDamagedDatabase(t *testing.T) {
	whole := t.TempDir()
	links := Records{}
	for i := range 500 {
		links.Set(Reference{fmt.Sprint("team/app", i%3), fmt.Sprint("tag", i)}, Record{digest.FromString(fmt.Sprint(i)), time.Unix(int64(i), 0).UTC()})
	}
	t.Run("write", func(t *testing.T) { open(t, whole, links) })
	text, err := os.ReadFile(filepath.Join(whole, File))
	must(t, err)
	r := rand.New(rand.NewPCG(3, 4))
	damage := map[string][]byte{
		"text": []byte("{"), "empty": {}, "zeros": make([]byte, len(text)), "first page only": text[:4096], "half": text[:len(text)/2/4096*4096], "odd length": text[:len(text)-4097],
		"no meta pages": append(make([]byte, 2*4096), text[2*4096:]...),
	}
	for i := range 60 {
		damaged := bytes.Clone(text)
		for range 1 + r.IntN(200) {
			damaged[r.IntN(len(damaged))] ^= byte(1 << r.IntN(8))
		}
		if i%3 == 0 { // a page with other content
			page := 1 + r.IntN(len(damaged)/4096-1)
			copy(damaged[page*4096:(page+1)*4096], bytes.Repeat([]byte{byte(r.IntN(256))}, 4096))
		}
		damage[fmt.Sprint("bits", i)] = damaged
	}
	replaced := 0
	for name, content := range damage {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, File), content, 0o600))
		log := new(bytes.Buffer)
		l, err := openIn(t, dir, links, slog.New(slog.NewTextHandler(log, nil)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := l.records(t)
		for at, link := range links.All() {
			if record, _ := got.Get(at); record.Digest != link.Digest {
				t.Fatalf("%s: %s is %v, want %v", name, at, record, link)
			}
		}
		must(t, l.Push(Reference{"team/app", "next"}, digest.FromString("next"), nothing))
		must(t, l.Close())
		if _, err := os.Stat(filepath.Join(dir, File+damagedSuffix)); err == nil {
			replaced++
			if !strings.Contains(log.String(), "the ledger is damaged; the registry makes a new one") {
				t.Errorf("%s: log %s", name, log)
			}
		}
	}
	t.Logf("%d of %d files were replaced", replaced, len(damage))
	if replaced < 5 {
		t.Errorf("only %d files were replaced", replaced)
	}
}

// TestDatabaseInUse: two registries never write to the pushes of one directory.
func TestDatabaseInUse(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, nil)
	must(t, l.Push(Reference{"team/app", "1"}, digest.FromString("d"), nothing))
	if _, err := openIn(t, dir, nil, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "another process uses "+File) {
		t.Errorf("a second registry: %v", err)
	}
}

// TestOddFiles: a file that is not regular stays unchanged.
func TestOddFiles(t *testing.T) {
	for name, place := range map[string]func(string) error{
		"directory":   func(at string) error { return os.Mkdir(at, 0o700) },
		"outer link":  func(at string) error { return os.Symlink("/etc/hostname", at) },
		"device link": func(at string) error { return os.Symlink("/dev/null", at) },
	} {
		dir := t.TempDir()
		must(t, place(filepath.Join(dir, File)))
		if _, err := openIn(t, dir, nil, slog.New(slog.DiscardHandler)); err == nil {
			t.Errorf("%s: no error", name)
		}
		if _, err := os.Lstat(filepath.Join(dir, File)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
