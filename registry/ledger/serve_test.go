package ledger

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
)

// get asks for the records after a cursor, "": the first ones.
func get(t *testing.T, l *Ledger, cursor string) (Records, string, int) {
	t.Helper()
	req := httptest.NewRequest(http.MethodGet, Path+"?"+url.Values{AfterParameter: {strings.Trim(cursor, `"`)}}.Encode(), nil)
	req.Header.Set("If-None-Match", cursor)
	return answer(t, l, req)
}

func answer(t *testing.T, l *Ledger, req *http.Request) (Records, string, int) {
	t.Helper()
	w := httptest.NewRecorder()
	l.ServeHTTP(w, req)
	records := Records{}
	if w.Code == http.StatusOK {
		must(t, json.Unmarshal(w.Body.Bytes(), &records))
	}
	return records, w.Header().Get("ETag"), w.Code
}

func TestChangesSince(t *testing.T) {
	l := open(t, t.TempDir(), nil)
	records, cursor, status := get(t, l, "")
	if status != http.StatusOK || records.Count() != 0 {
		t.Errorf("before the first push: %d, %v", status, records)
	}
	if _, _, status := get(t, l, cursor); status != http.StatusNotModified {
		t.Errorf("again: %d", status)
	}
	const tags = 2*changesAtOnce + 100
	fill(t, l, tags)
	all, pages := Records{}, 0
	for {
		page, next, status := get(t, l, cursor)
		if status == http.StatusNotModified {
			break
		}
		if pages++; page.Count() > changesAtOnce || status != http.StatusOK {
			t.Fatalf("%d records in one answer, status %d", page.Count(), status)
		}
		for at, record := range page.All() {
			all.Set(at, record)
		}
		cursor = next
	}
	if want := l.records(t); !reflect.DeepEqual(all, want) || all.Count() != tags || pages != 3 {
		t.Errorf("%d of %d records in %d answers", all.Count(), want.Count(), pages)
	}
	at := Reference{"team/app1", "build-000001"}
	must(t, l.Remove(at, func([]string) error { return nil }))
	must(t, l.Push(at, digest.FromString("d"), nothing))
	page, next, _ := get(t, l, cursor)
	if page.Count() != 2 || page["team/app1"]["build-000001"].Digest != digest.FromString("d") {
		t.Errorf("after one change: %v", page)
	}
	for _, unknown := range []string{"", `"x"`, `"x-5"`, `"` + l.id + `-99999999"`, `"` + l.id + `-x"`} {
		if page, _, _ := get(t, l, unknown); page.Count() != changesAtOnce {
			t.Errorf("cursor %s: %d records", unknown, page.Count())
		}
	}
	must(t, l.Remove(at, func([]string) error { return nil }))
	l.now = func() time.Time { return time.Now().Add(2 * keepDeletions) }
	must(t, l.update(func(table) error { return nil }))
	page, next, status = get(t, l, next)
	if status != http.StatusOK || page.Count() != 0 {
		t.Errorf("after pruning: %d, %v", status, page)
	}
	if _, _, status := get(t, l, next); status != http.StatusNotModified {
		t.Errorf("after pruning, again: %d", status)
	}
}

// TestAllRecords: an older registry asks without a cursor, and gets one JSON object.
func TestAllRecords(t *testing.T) {
	l := open(t, t.TempDir(), nil)
	for i, want := range []int{0, 1, recordsAtOnce, 2*recordsAtOnce + 3} {
		if want > 0 {
			fill(t, l, want)
		}
		req := httptest.NewRequest(http.MethodGet, Path, nil)
		records, tag, status := answer(t, l, req)
		if status != http.StatusOK || !reflect.DeepEqual(records, l.records(t)) || records.Count() != want {
			t.Errorf("%d: %d records, status %d, want %d", i, records.Count(), status, want)
		}
		req.Header.Set("If-None-Match", tag)
		if _, _, status := answer(t, l, req); status != http.StatusNotModified {
			t.Errorf("%d: again: %d", i, status)
		}
	}
}

// TestCursorsOfAnotherProcess: a restored database repeats sequence numbers.
func TestCursorsOfAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	links := Records{}
	var cursor string
	t.Run("first", func(t *testing.T) {
		l := open(t, dir, nil)
		for i := range 3 {
			at := Reference{"team/app", fmt.Sprint(i)}
			must(t, l.Push(at, digest.FromString("d"), nothing))
			links.Set(at, Record{digest.FromString("d"), time.Now()})
		}
		links.Set(Reference{"team/app", digest.FromString("d").String()}, Record{digest.FromString("d"), time.Now()})
		_, cursor, _ = get(t, l, "")
	})
	l := open(t, dir, links)
	if page, _, status := get(t, l, cursor); status != http.StatusOK || page.Count() != 4 {
		t.Errorf("%d records, status %d", page.Count(), status)
	}
}
