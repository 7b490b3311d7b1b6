// Command picture makes the README's picture: it runs a command in a terminal (tmux)
// and writes the screens as an animated SVG.
//
//	go run ./cmd/picture ../docs/demo.svg go run ./cmd/lab demo
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// The size of the terminal in characters, and the interval between two screens. The
// picture plays at eight times the speed of the command.
const (
	columns, rows = 112, 32
	interval      = 4 * time.Second
	show          = interval / 8
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: picture FILE.svg COMMAND…")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1], os.Args[2:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, file string, command []string) error {
	frames, err := record(ctx, command)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(svg(frames)), 0o644)
}

// record runs the command, and returns each screen that differs from the previous one,
// with tmux's escape sequences for colours.
func record(ctx context.Context, command []string) ([]string, error) {
	socket := "picture-" + strconv.Itoa(os.Getpid())
	tmux := func(args ...string) (string, error) {
		out, err := exec.CommandContext(ctx, "tmux", append([]string{"-L", socket}, args...)...).Output()
		if err != nil {
			return "", fmt.Errorf("tmux %s: %w", args[0], err)
		}
		return strings.TrimRight(string(out), "\n"), nil
	}
	dir, err := os.MkdirTemp("", "picture")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	status := filepath.Join(dir, "status") // tmux sometimes loses the exit status of a pane's command
	start := []string{"new-session", "-d", "-x", strconv.Itoa(columns), "-y", strconv.Itoa(rows), ";", "set", "remain-on-exit", "on", ";", "respawn-pane", "-k",
		"sh", "-c", `"$@"; echo $? >"$0"`, status}
	if _, err := tmux(append(start, command...)...); err != nil {
		return nil, err
	}
	defer exec.Command("tmux", "-L", socket, "kill-server").Run()
	var frames []string
	for {
		dead, err := tmux("display-message", "-p", "#{pane_dead}")
		if err != nil {
			return nil, err
		}
		screen, err := tmux("capture-pane", "-e", "-p")
		if err != nil {
			return nil, err
		}
		if dead == "1" {
			code, err := os.ReadFile(status)
			if err != nil {
				return nil, err
			}
			if string(code) != "0\n" {
				return nil, fmt.Errorf("%s ended with %q:\n%s", strings.Join(command, " "), code, screen)
			}
			return append(frames, withoutEnd(screen)), nil
		}
		if len(frames) == 0 || screen != frames[len(frames)-1] {
			frames = append(frames, screen)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(interval):
		}
	}
}

// withoutEnd removes tmux's message about the end of the command.
func withoutEnd(screen string) string {
	if i := strings.LastIndex(screen, "\nPane is dead"); i >= 0 {
		screen = screen[:i]
	}
	return strings.TrimRight(screen, "\n")
}
