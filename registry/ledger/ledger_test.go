package ledger

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	"go.etcd.io/bbolt"

	"airgap.dev/airgap/internal/host"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// open opens the ledger in dir with these links, and closes it at the end of the test.
func open(t testing.TB, dir string, links Records) *Ledger {
	t.Helper()
	l, err := openIn(t, dir, links, slog.New(slog.DiscardHandler))
	must(t, err)
	t.Cleanup(func() { must(t, l.Close()) })
	return l
}

func openIn(t testing.TB, dir string, links Records, log *slog.Logger) (*Ledger, error) {
	t.Helper()
	owned, err := host.OpenOwned(dir)
	must(t, err)
	t.Cleanup(func() { owned.Close() })
	reserved := func(repository string) bool { return strings.HasPrefix(repository, "quay.io/") }
	return Open(owned, Content{links, reserved}, log)
}

func nothing() error { return nil }

// records returns the content of the ledger.
func (l *Ledger) records(t testing.TB) Records {
	t.Helper()
	all := Records{}
	for last := (Reference{}); ; {
		page, err := l.page(last)
		must(t, err)
		if len(page) == 0 {
			return all
		}
		for _, e := range page {
			all.Set(e.at, e.record)
			last = e.at
		}
	}
}

func (l *Ledger) digestOf(t testing.TB, repository, reference string) string {
	t.Helper()
	record, known := l.records(t).Get(Reference{repository, reference})
	if !known {
		return "unknown"
	}
	return record.Digest.String()
}

func TestPushAndRemove(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, nil)
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
		t.Errorf("files before the first push: %v, %v", files, err)
	}
	a, b := digest.FromString("a"), digest.FromString("b")
	for _, push := range []struct {
		at Reference
		d  digest.Digest
	}{
		{Reference{"team/app", "1"}, a}, {Reference{"team/app", "2"}, a}, {Reference{"team/app", "3"}, b}, {Reference{"team/app", a.String()}, a},
		{Reference{"team/app2", "1"}, a}, {Reference{"team/app", "2"}, b}, {Reference{"team/app", "1.1"}, a},
	} {
		must(t, l.Push(push.at, push.d, nothing))
	}
	var given []string
	must(t, l.Remove(Reference{"team/app", a.String()}, func(tags []string) error { given = tags; return nil }))
	if !slices.Equal(given, []string{"1", "1.1"}) {
		t.Errorf("the tags of the manifest are %v", given)
	}
	for at, want := range map[Reference]string{
		{"team/app", "1"}: "", {"team/app", "1.1"}: "", {"team/app", a.String()}: "", {"team/app", "2"}: b.String(), {"team/app", "3"}: b.String(),
		{"team/app", b.String()}: b.String(), {"team/app2", "1"}: a.String(), {"team/app2", a.String()}: a.String(), {"team/none", "1"}: "unknown",
	} {
		if got := l.digestOf(t, at.Repository, at.Reference); got != want {
			t.Errorf("%s is %q, want %q", at, got, want)
		}
	}
	must(t, l.Remove(Reference{"team/app", "3"}, func(tags []string) error {
		if len(tags) != 0 {
			t.Errorf("a tag has tags: %v", tags)
		}
		return nil
	}))
	failing := fmt.Errorf("disk")
	if err := l.Remove(Reference{"team/app", "2"}, func([]string) error { return failing }); err == nil {
		t.Error("no error")
	}
	if got := l.digestOf(t, "team/app", "2"); got != b.String() {
		t.Errorf("a deletion that failed is recorded: %q", got)
	}
	if err := l.Push(Reference{"team/app", "a\x00b"}, a, nothing); err == nil {
		t.Error("a tag with a zero byte")
	}
}

// TestPowerCut: a change is on the disk when the call returns. A copy of the files of a running
// registry shows it.
func TestPowerCut(t *testing.T) {
	dir, copied := t.TempDir(), t.TempDir()
	l := open(t, dir, nil)
	d := digest.FromString("a")
	links := Records{}
	for i := range 50 {
		at := Reference{"team/app", fmt.Sprint(i)}
		must(t, l.Push(at, d, nothing))
		links.Set(at, Record{d, time.Now()})
		links.Set(Reference{"team/app", d.String()}, Record{d, time.Now()})
	}
	must(t, l.Remove(Reference{"team/app", "7"}, func([]string) error { return nil }))
	delete(links["team/app"], "7")
	text, err := os.ReadFile(filepath.Join(dir, File))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(copied, File), text, 0o600))
	again := open(t, copied, links)
	if got, want := again.records(t), l.records(t); !reflect.DeepEqual(got, want) || got.Count() != 51 {
		t.Errorf("%d records, want %d", got.Count(), want.Count())
	}
}

// TestRecordsConverge: the result does not depend on the order and repetition of records.
func TestRecordsConverge(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var all []entry
		for range 30 {
			e := entry{at: Reference{fmt.Sprint("repo", r.IntN(2)), fmt.Sprint("tag", r.IntN(2))}}
			e.record.Time = time.Unix(int64(r.IntN(5)), 0)
			if r.IntN(3) > 0 {
				e.record.Digest = digest.FromString(fmt.Sprint(r.IntN(4)))
			}
			all = append(all, e)
		}
		var want Records
		for range 5 {
			got := Records{}
			for _, i := range append(r.Perm(len(all)), r.Perm(len(all))...) {
				got.Set(all[i].at, all[i].record)
			}
			if want == nil {
				want = got
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%v, want %v", got, want)
			}
		}
	}
}

// TestFollowIsNotLate: a local push or deletion stays, if an older push of another host is being
// copied at the same time.
func TestFollowIsNotLate(t *testing.T) {
	l := open(t, t.TempDir(), nil)
	at, now := Reference{"team/app", "latest"}, time.Now().UTC()
	ours, theirs := digest.FromString("ours"), digest.FromString("theirs")
	reapplied := 0
	must(t, l.Push(at, ours, func() error { reapplied++; return nil }))
	current, _ := l.records(t).Get(at)
	for _, older := range []time.Time{now.Add(-time.Minute), current.Time} {
		record := Record{Digest: theirs, Time: older}
		if record.After(current) {
			continue // with equal times, the digest decides
		}
		must(t, l.Follow(at, record, func() error { t.Error("followed an older push"); return nil }))
	}
	followed := false
	must(t, l.Follow(at, Record{Digest: theirs, Time: now.Add(time.Minute)}, func() error { followed = true; return nil }))
	if got := l.digestOf(t, "team/app", "latest"); !followed || got != theirs.String() || reapplied != 1 {
		t.Errorf("followed a newer push: %t, the digest is %s; reapplied %d times", followed, got, reapplied)
	}
	must(t, l.Remove(at, func([]string) error { return nil })) // although our clock is behind
	if got := l.digestOf(t, "team/app", "latest"); got != "" {
		t.Errorf("after the deletion: %s", got)
	}
}

// TestDeletionsArePruned: a deletion is dropped after 90 days, and does not come back from a host that
// still has it.
func TestDeletionsArePruned(t *testing.T) {
	l := open(t, t.TempDir(), nil)
	began := time.Now()
	d := digest.FromString("a")
	must(t, l.Push(Reference{"team/app", "kept"}, d, nothing))
	must(t, l.update(func(all table) error {
		for i := range 150 {
			at := Reference{"team/app", fmt.Sprint(i)}
			must(t, all.change(at, d, began))
			must(t, all.change(at, "", began))
		}
		return nil
	}))
	if n := l.records(t).Count(); n != 152 {
		t.Fatalf("%d records", n)
	}
	old := l.records(t)
	l.now = func() time.Time { return began.Add(keepDeletions + time.Hour) }
	for range 2 { // each change prunes a limited number
		must(t, l.Push(Reference{"team/other", "1"}, d, nothing))
	}
	if got := l.records(t); got.Count() != 4 || got["team/app"][d.String()].Deleted() {
		t.Errorf("after 90 days: %v", got)
	}
	pending, err := l.Pending(old)
	if err != nil || pending.Count() != 0 {
		t.Errorf("pending: %v, %v", pending, err)
	}
	must(t, l.Follow(Reference{"team/app", "0"}, Record{d, began.Add(-time.Hour)}, nothing))
	if pending, err = l.Pending(old); err != nil || pending.Count() != 1 {
		t.Errorf("the deletion of an image that is still here: %v, %v", pending, err)
	}
	if left := entries(t, l, bucketDeletions) + entries(t, l, bucketTags); left != 3 || entries(t, l, bucketChanges) != 5 {
		t.Errorf("%d entries of deletions and tags, %d of changes", left, entries(t, l, bucketChanges))
	}
}

func entries(t testing.TB, l *Ledger, bucket string) (n int) {
	t.Helper()
	must(t, l.db.View(func(tx *bbolt.Tx) error {
		n = tx.Bucket([]byte(bucket)).Stats().KeyN
		return nil
	}))
	return n
}

// fill adds tags in a few transactions.
func fill(t testing.TB, l *Ledger, count int) {
	t.Helper()
	put := Records{}
	for i := range count {
		put.Set(Reference{fmt.Sprint("team/app", i%7), fmt.Sprintf("build-%06d", i)}, Record{digest.FromString(fmt.Sprint(i)), time.Unix(int64(i), 0)})
	}
	must(t, l.write(put, nil))
}

// TestCostOfAChangeDoesNotGrow counts the writes of a push and of a deletion with few and with many tags.
func TestCostOfAChangeDoesNotGrow(t *testing.T) {
	cost := func(tags int) (push, remove int64) {
		l := open(t, t.TempDir(), nil)
		fill(t, l, tags)
		writes := func(do func(i int)) int64 {
			before := l.db.Stats()
			for i := range 20 {
				do(i)
			}
			after := l.db.Stats()
			return (after.TxStats.GetWrite() - before.TxStats.GetWrite()) / 20
		}
		d := digest.FromString("new")
		push = writes(func(i int) { must(t, l.Push(Reference{"team/app1", fmt.Sprint("new", i)}, d, nothing)) })
		remove = writes(func(i int) {
			must(t, l.Remove(Reference{"team/app1", fmt.Sprint("new", i)}, func([]string) error { return nil }))
		})
		return push, remove
	}
	push, remove := cost(10)
	pushMany, removeMany := cost(10_000)
	t.Logf("writes of a push: %d with 10 tags, %d with 10,000; of a deletion: %d, %d", push, pushMany, remove, removeMany)
	if pushMany > 40 || removeMany > 40 { // the depth of the trees grows with the logarithm
		t.Errorf("a push takes %d writes, a deletion %d", pushMany, removeMany)
	}
}

func BenchmarkPush(b *testing.B) {
	for _, tags := range []int{100, 10_000, 100_000} {
		b.Run(fmt.Sprintf("tags=%d", tags), func(b *testing.B) {
			l := open(b, b.TempDir(), nil)
			fill(b, l, tags)
			for i := 0; b.Loop(); i++ {
				must(b, l.Push(Reference{"team/app1", fmt.Sprint("new", i)}, digest.FromString("new"), nothing))
			}
		})
	}
}

func BenchmarkRemove(b *testing.B) {
	for _, tags := range []int{100, 10_000, 100_000} {
		b.Run(fmt.Sprintf("tags=%d", tags), func(b *testing.B) {
			l := open(b, b.TempDir(), nil)
			fill(b, l, tags)
			for b.Loop() {
				must(b, l.Push(Reference{"team/app1", "new"}, digest.FromString("new"), nothing))
				must(b, l.Remove(Reference{"team/app1", digest.FromString("new").String()}, func([]string) error { return nil }))
			}
		})
	}
}
