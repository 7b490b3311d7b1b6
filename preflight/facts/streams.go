package facts

import (
	"context"
	"strings"
)

const streamsDir = "etc/dnf/modules.d"

// readStreams reads dnf's enabled and disabled module streams: one INI file per module.
func readStreams(_ context.Context, r reader, f *Facts) error {
	names, err := r.names(streamsDir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".module") {
			continue
		}
		lines, err := r.lines(streamsDir + "/" + name)
		if err != nil {
			return err
		}
		addStream(f, lines)
	}
	return nil
}

func addStream(f *Facts, lines []string) {
	values := map[string]string{}
	for _, line := range lines {
		key, value, _ := strings.Cut(line, "=")
		values[strings.TrimSpace(key)] = strings.TrimSpace(value)
	}
	stream := values["stream"]
	switch values["state"] {
	case "enabled":
	case "disabled":
		stream = ""
	default:
		return // reset: dnf uses the default
	}
	if values["name"] == "" {
		return
	}
	if f.Streams == nil {
		f.Streams = map[string]string{}
	}
	f.Streams[values["name"]] = stream
}
