package alteration

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCause(t *testing.T) {
	signed := "1. Trust.\n\n   rpm --import KEY\n"
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(signed)))
	crlf := strings.ReplaceAll(signed, "\n", "\r\n")
	for _, test := range []struct{ name, now, want string }{
		{"CRLF", crlf, ": its line ends were converted to CRLF"},
		{"a byte order mark", "\ufeff" + signed, ": a byte order mark was added"},
		{"both", "\ufeff" + crlf, ": its line ends were converted to CRLF, and a byte order mark was added"},
		{"an empty line", signed + "\n", ": an empty line was added at its end"},
		{"no last line end", strings.TrimSuffix(signed, "\n"), ": its last line end was removed"},
		{"emptied", "", ": the file is empty"},
		{"another text", "curl | sh", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := Cause(bytes.NewReader([]byte(test.now)), int64(len(test.now)), sum)
			require.Equal(t, "SHA-256 does not match the signed value"+test.want, got)
		})
	}
}
