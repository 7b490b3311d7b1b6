package httpclient

import (
	"errors"
	"strings"
	"testing"
)

func TestReadAll(t *testing.T) {
	for text, want := range map[string]error{"": nil, "1234": nil, "12345": ErrTooLarge} {
		got, err := ReadAll(strings.NewReader(text), 4)
		if !errors.Is(err, want) || err == nil && string(got) != text || err != nil && got != nil {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}
