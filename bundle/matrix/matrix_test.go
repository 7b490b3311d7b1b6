package matrix

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/config/configtest"
)

var update = flag.Bool("update", false, "write the golden files")

// TestMatrix compares the table with its golden file, with and without marks.
func TestMatrix(t *testing.T) {
	for name, c := range map[string]*config.Cluster{"plain": {}, "marked": configtest.On(t, "el9", configtest.Kubernetes+"gpu: {branch: 580}\n")} {
		var text bytes.Buffer
		if err := of(c).Write(&text); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", "matrix-"+name+".txt")
		if *update {
			if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(file); err != nil || !bytes.Equal(text.Bytes(), want) {
			t.Errorf("%s: %v; go test -update writes\n%s", file, err, &text)
		}
	}
}

// TestEveryRowOfTheMatrixHasASource: every row names the source of its facts.
func TestEveryRowOfTheMatrixHasASource(t *testing.T) {
	m := reflect.ValueOf(*of(&config.Cluster{}))
	for _, rows := range m.Fields() {
		if rows.Len() == 0 {
			t.Error("the table has no rows")
		}
		for i := range rows.Len() {
			if rows.Index(i).FieldByName("Source").String() == "" {
				t.Errorf("row without a source: %+v", rows.Index(i))
			}
		}
	}
}
