package unitfile

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func whole(_, value string) string { return value }

// TestRead: sections, comments and continued lines as in systemd.syntax(7).
func TestRead(t *testing.T) {
	text := "[Unit]\nUMask=1\n[Service]\n# PrivateTmp=no\n; x\n  PrivateTmp = yes\nSystemCallFilter=@system-service \\\n# in between\n  ~@mount\nno setting\nUMask=\n"
	f := File{Path: "/f", Kind: DropIn}.Read(text, whole)
	assert.Equal(t, []Setting{{2, "Unit", "UMask", "1"}, {6, "Service", "PrivateTmp", "yes"}, {7, "Service", "SystemCallFilter", "@system-service ~@mount"}, {11, "Service", "UMask", ""}}, f.Settings)
	all := Order([]File{f}, "Service", "")
	assert.Equal(t, "/f line 6", Last(all, "PrivateTmp").At())
	assert.Equal(t, Placed{}, Last(all, "UMask"))
	assert.True(t, On("Yes") && Off("") && Off("false") && !On("strict") && !Off("strict"))
}

// TestOrder: drop-ins of all services and of the unit apply by name, and a name of the unit's own
// hides that of all services (systemd.unit(5)).
func TestOrder(t *testing.T) {
	file := func(unit, kind, path, value string) File {
		return File{Path: path, Unit: unit, Kind: kind, Settings: []Setting{{1, "Service", "UMask", value}}}
	}
	files := []File{
		file("kubelet", DropIn, "/etc/kubelet.service.d/20-b.conf", "2"), file("kubelet", DropIn, "/etc/kubelet.service.d/10-a.conf", "0"), file("kubelet", "unit", "/etc/kubelet.service", "9"),
		file("service", DropIn, "/etc/service.d/10-a.conf", "7"), file("service", DropIn, "/etc/service.d/15-c.conf", "1"), file("kubelet", Main, "/z.conf", "m"), file("crio", DropIn, "/x.conf", "8"),
	}
	values := func(units ...string) string {
		text := ""
		for _, p := range Order(files, "Service", units...) {
			text += p.Value
		}
		return text
	}
	assert.Equal(t, "m012", values("service", "kubelet"))
	assert.Equal(t, "m02", values("kubelet"))
	assert.Equal(t, "718", values("service", "crio"))
}

func FuzzRead(f *testing.F) {
	f.Add("[Service]\nA=\\\n")
	f.Fuzz(func(t *testing.T, text string) {
		file := File{}.Read(text, whole)
		last := 0
		for _, s := range file.Settings {
			if s.Line <= last || s.Line > strings.Count(text, "\n")+1 || len(s.Value) > maxValue+len("…") {
				t.Errorf("%+v after line %d", s, last)
			}
			last = s.Line
		}
		if len(file.Settings) > maxSettings {
			t.Errorf("%d settings", len(file.Settings))
		}
	})
}
