package remote

import (
	"reflect"
	"testing"
	"time"
)

// filled sets each exported field of a struct.
func filled(t *testing.T, to reflect.Value) {
	t.Helper()
	for i := range to.NumField() {
		switch f := to.Field(i); {
		case !to.Type().Field(i).IsExported():
		case f.Kind() == reflect.String:
			f.SetString("x")
		case f.Kind() == reflect.Int:
			f.SetInt(7)
		case f.Kind() == reflect.Slice:
			f.Set(reflect.ValueOf([]string{"x"}))
		default:
			t.Fatalf("no value for the field %s", to.Type().Field(i).Name)
		}
	}
}

// TestSilence: without a setting, airgap gives up a silent command after 90 minutes.
func TestSilence(t *testing.T) {
	for minutes, want := range map[int]time.Duration{0: 90 * time.Minute, 30: 30 * time.Minute} {
		if got := (&Config{SilentMinutes: minutes}).Silence(); got != want {
			t.Errorf("silentMinutes %d: %s", minutes, got)
		}
	}
}

// TestEveryFieldIsReplaced: a new field of the section, or of a node, can be replaced on site.
func TestEveryFieldIsReplaced(t *testing.T) {
	var all, section Config
	filled(t, reflect.ValueOf(&all).Elem())
	if names := section.Over(all); !reflect.DeepEqual(section, all) || len(names) != 11 {
		t.Errorf("got %+v, %q", section, names)
	}
	if section.Over(Config{}); !reflect.DeepEqual(section, all) {
		t.Errorf("an empty file changed %+v", section)
	}
	var node Override
	filled(t, reflect.ValueOf(&node).Elem())
	if got := (Override{}).Over(&node); !reflect.DeepEqual(*got, node) {
		t.Errorf("an empty item changed %+v", got)
	}
	if got := node.Over(&Override{User: "other"}); !reflect.DeepEqual(*got, node) {
		t.Errorf("got %+v", got)
	}
	written := Config{Port: 2222}
	written.Default()
	if w := written.Written(); !reflect.DeepEqual(w, Config{Port: 2222}) {
		t.Errorf("got %+v", w)
	}
}
