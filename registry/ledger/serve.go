package ledger

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

const (
	// Path is the path at which the other registries read the ledger.
	Path = "/pushed"
	// AfterParameter names the cursor of the last answer. The answer then has only later changes.
	AfterParameter = "after"
	// changesAtOnce limits the records in an answer to AfterParameter.
	changesAtOnce = 10_000
	// recordsAtOnce limits the records that one transaction reads: a slow client must not keep it open.
	recordsAtOnce = 1_000
)

// ServeHTTP answers /pushed with Records, for the other registry hosts. The ETag is a cursor. With
// ?after=CURSOR the answer has the changes since that cursor, at most changesAtOnce; the client asks
// until it gets 304. An unknown cursor, such as "", means the first change. Without the parameter, as
// older versions of airgap ask, the answer has all records.
func (l *Ledger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now, err := l.sequence()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if r.Header.Get("If-None-Match") == l.tag(now) {
		w.Header().Set("ETag", l.tag(now))
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if !r.URL.Query().Has(AfterParameter) {
		w.Header().Set("ETag", l.tag(now))
		if err := l.writeAll(w); err != nil {
			l.log.Error("send ledger", "client", r.RemoteAddr, "error", err.Error())
		}
		return
	}
	records, last, err := l.since(l.position(r.URL.Query().Get(AfterParameter), now))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("ETag", l.tag(last))
	_ = json.NewEncoder(w).Encode(records) // the client may have closed the connection
}

// tag returns the ETag for the sequence number of a change.
func (l *Ledger) tag(n uint64) string { return fmt.Sprintf(`"%s-%d"`, l.id, n) }

// position returns the sequence number in a cursor: a tag without its quotation marks. It is 0 for the
// cursor of another process, because a restored database repeats sequence numbers.
func (l *Ledger) position(cursor string, now uint64) uint64 {
	id, number, _ := strings.Cut(cursor, "-")
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil || id != l.id || n > now {
		return 0
	}
	return n
}

// sequence returns the sequence number of the last change.
func (l *Ledger) sequence() (n uint64, err error) {
	err = l.view(func(t table) error {
		n = t.latest()
		return nil
	})
	return n, err
}

// since returns the records that changed after n, the oldest changes first, and the sequence number of
// the last one.
func (l *Ledger) since(n uint64) (Records, uint64, error) {
	found, last := Records{}, n
	err := l.view(func(t table) error {
		if t.changes == nil {
			return nil
		}
		c := t.changes.Cursor()
		key, value := c.Seek(sequenceKey(n + 1))
		for count := 0; key != nil && count < changesAtOnce; key, value = c.Next() {
			at, err := parseKey(value)
			if err != nil {
				return err
			}
			record, _, err := t.get(at)
			if err != nil {
				return err
			}
			found.Set(at, record.Record)
			last = binary.BigEndian.Uint64(key)
			count++
		}
		if key == nil {
			last = t.latest() // later ones were pruned
		}
		return nil
	})
	return found, last, err
}

// entry is a record with its reference.
type entry struct {
	at     Reference
	record Record
}

// page returns at most recordsAtOnce records after a reference, sorted by repository.
func (l *Ledger) page(after Reference) ([]entry, error) {
	var found []entry
	err := l.view(func(t table) error {
		if t.records == nil {
			return nil
		}
		c := t.records.Cursor()
		from := append(after.key(), 0) // the next possible key
		for key, _ := c.Seek(from); key != nil && len(found) < recordsAtOnce; key, _ = c.Next() {
			at, err := parseKey(key)
			if err != nil {
				return err
			}
			record, _, err := t.get(at)
			if err != nil {
				return err
			}
			found = append(found, entry{at, record.Record})
		}
		return nil
	})
	return found, err
}

// writeAll writes all records. It never has more than a page of them in memory.
func (l *Ledger) writeAll(w io.Writer) error {
	var last Reference
	open := "{"
	for {
		page, err := l.page(last)
		if err != nil || len(page) == 0 {
			return errorOr(err, w, open)
		}
		text := new(bytes.Buffer)
		for _, e := range page {
			separator := ","
			if e.at.Repository != last.Repository {
				separator = open + quoted(e.at.Repository) + ":{"
			}
			record, err := json.Marshal(e.record)
			if err != nil {
				return err
			}
			fmt.Fprintf(text, "%s%s:%s", separator, quoted(e.at.Reference), record)
			last, open = e.at, "},"
		}
		if _, err := w.Write(text.Bytes()); err != nil {
			return err
		}
	}
}

// errorOr ends the JSON object after the last page, if there is no error.
func errorOr(err error, w io.Writer, open string) error {
	if err != nil {
		return err
	}
	end := "}}"
	if open == "{" { // no record
		end = "{}"
	}
	_, err = io.WriteString(w, end)
	return err
}

func quoted(s string) string {
	text, _ := json.Marshal(s) //nolint:errchkjson // a string is always valid
	return string(text)
}
