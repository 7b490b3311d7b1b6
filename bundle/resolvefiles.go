package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"airgap.dev/airgap/bundle/fetch"
	"airgap.dev/airgap/internal/httpclient"
)

// resolveFile determines the size and SHA-256 of a file.
func (up upstream) resolveFile(ctx context.Context, need FileNeed) (File, error) {
	ctx = httpclient.For(ctx, "file "+need.Name)
	if !isPlainName(need.Name) {
		return File{}, fmt.Errorf("name %q: want letters, digits, dots, dashes", need.Name)
	}
	sum, err := up.checksum(ctx, need)
	if err != nil {
		return File{}, err
	}
	size, err := up.Size(ctx, need.URL)
	if err != nil {
		return File{}, err
	}
	return File{Name: need.Name, URL: need.URL, Path: "files/" + need.Name, Size: size, SHA256: sum}, nil
}

func (up upstream) checksum(ctx context.Context, need FileNeed) (string, error) {
	if need.SHA256 != "" {
		if !isSHA256(need.SHA256) {
			return "", fmt.Errorf("%q is not a SHA-256 in lower-case hex", need.SHA256)
		}
		return need.SHA256, nil
	}
	if need.ChecksumURL == "" {
		return "", errors.New("no checksum for the file")
	}
	body, _, err := up.Open(ctx, need.ChecksumURL, 0)
	if err != nil {
		return "", err
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, maxSums))
	if err != nil {
		return "", err
	}
	sum, err := findChecksum(string(text), need.URL[strings.LastIndex(need.URL, "/")+1:])
	if err != nil {
		return "", fmt.Errorf("%s: %w", fetch.Presentable(need.ChecksumURL), err)
	}
	return sum, nil
}

// findChecksum reads lines "HEX  NAME" and "HEX *NAME", or a file with only HEX.
func findChecksum(text, name string) (string, error) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range lines {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 1 && len(lines) == 1 && isSHA256(fields[0]):
			return fields[0], nil
		case len(fields) == 2 && isSHA256(fields[0]) && strings.TrimPrefix(strings.TrimPrefix(fields[1], "*"), "./") == name:
			return fields[0], nil
		}
	}
	return "", fmt.Errorf("no SHA-256 for %s", name)
}
