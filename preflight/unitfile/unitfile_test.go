package unitfile

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestRead: sections, comments and continued lines as in systemd.syntax(7).
func TestRead(t *testing.T) {
	text := "[Unit]\nUMask=1\n[Service]\n# PrivateTmp=no\n; x\n  PrivateTmp = yes\nSystemCallFilter=@system-service \\\n# in between\n  ~@mount\nEnvironment=A=secret\nUMask=\n"
	all := Read("/f", text, "Service", []string{"UMask", "PrivateTmp", "SystemCallFilter"})
	assert.Equal(t, []Setting{{"PrivateTmp", "yes", "/f:6"}, {"SystemCallFilter", "@system-service ~@mount", "/f:7"}, {"UMask", "", "/f:11"}}, all)
	assert.Equal(t, "yes", Last(all, "PrivateTmp").Value)
	assert.Equal(t, Setting{}, Last(all, "UMask"))
	assert.True(t, On("Yes") && Off("") && Off("false") && !On("strict") && !Off("strict"))
}

func FuzzRead(f *testing.F) {
	f.Add("[Service]\nA=\\\n")
	f.Fuzz(func(t *testing.T, text string) {
		if all := Read("/f", text, "Service", []string{"A"}); len(all) > maxSettings {
			t.Errorf("%d settings", len(all))
		}
	})
}
