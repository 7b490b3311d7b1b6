package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/config/configtest"
	"airgap.dev/airgap/internal/ui"
)

const k8s = configtest.Kubernetes

var update = flag.Bool("update", false, "write the golden files")

// TestMatrix compares the table with its golden file, with and without marks.
func TestMatrix(t *testing.T) {
	for name, c := range map[string]*config.Cluster{"plain": {}, "marked": configtest.On(t, "el9", k8s+"gpu: {branch: 580}\n")} {
		var text bytes.Buffer
		if err := newMatrix(c).write(&text); err != nil {
			t.Fatal(err)
		}
		golden(t, "matrix-"+name+".txt", text.Bytes())
	}
}

// golden compares with a file of testdata, or writes it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: go test -update writes\n%s", file, got)
	}
}

// TestEveryRowOfTheMatrixHasASource: what is new in the table cannot forget it.
func TestEveryRowOfTheMatrixHasASource(t *testing.T) {
	m := reflect.ValueOf(*newMatrix(&config.Cluster{}))
	for _, rows := range m.Fields() {
		if rows.Len() == 0 {
			t.Error("a table without rows")
		}
		for i := range rows.Len() {
			if rows.Index(i).FieldByName("Source").String() == "" {
				t.Errorf("no source: %+v", rows.Index(i))
			}
		}
	}
}

// sayings is a progress that keeps what is said.
type sayings struct {
	ui.Progress
	said []string
}

func (s *sayings) Say(format string, args ...any) {
	s.said = append(s.said, fmt.Sprintf(format, args...))
}
