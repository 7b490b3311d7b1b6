package bundle

import (
	"reflect"
	"testing"
)

// TestJoinPlaces: an image from both a rule and a setting is listed once, with both places.
func TestJoinPlaces(t *testing.T) {
	got := joinPlaces([]NotCarried{
		{Reference: "quay.io/a:1", Reason: "first", FoundIn: []string{"rule"}},
		{Reference: "quay.io/a:1", Reason: "second", FoundIn: []string{"setting"}},
		{Reference: "quay.io/b:1", FoundIn: []string{"setting"}},
	})
	want := []NotCarried{{"quay.io/a:1", "first", []string{"rule", "setting"}}, {"quay.io/b:1", "", []string{"setting"}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
