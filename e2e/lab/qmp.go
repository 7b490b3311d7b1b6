package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"time"
)

// A monitor is a connection to QEMU's machine protocol (QMP). Commands, answers and events
// are JSON objects, and events come between the answers. QEMU serves one client at a time,
// so a monitor is open for one operation only.
type monitor struct {
	conn   net.Conn
	in     *json.Decoder
	events []event // received and not awaited yet
}

type event struct {
	Name string `json:"event"`
	Data struct {
		Device string `json:"device"`
	} `json:"data"`
}

// openMonitor connects to the socket at path. All operations with the monitor must end
// within ten seconds.
func openMonitor(ctx context.Context, path string) (*monitor, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("open the monitor: %w", err)
	}
	m := &monitor{conn: conn, in: json.NewDecoder(conn)}
	var greeting json.RawMessage
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return nil, m.close(err)
	}
	if err := m.in.Decode(&greeting); err != nil {
		return nil, m.close(fmt.Errorf("open the monitor: %w", err))
	}
	if err := m.do("qmp_capabilities", nil); err != nil {
		return nil, m.close(err)
	}
	return m, nil
}

// close closes the connection and passes err on.
func (m *monitor) close(err error) error {
	m.conn.Close()
	return err
}

// do runs a command and fails if QEMU returns an error.
func (m *monitor) do(command string, arguments map[string]any) error {
	request := map[string]any{"execute": command}
	if arguments != nil {
		request["arguments"] = arguments
	}
	if err := json.NewEncoder(m.conn).Encode(request); err != nil {
		return fmt.Errorf("monitor: %s: %w", command, err)
	}
	for {
		var answer struct {
			event
			Return json.RawMessage `json:"return"`
			Error  *struct {
				Desc string `json:"desc"`
			} `json:"error"`
		}
		if err := m.in.Decode(&answer); err != nil {
			return fmt.Errorf("monitor: %s: %w", command, err)
		}
		switch {
		case answer.Error != nil:
			return fmt.Errorf("monitor: %s: %s", command, answer.Error.Desc)
		case answer.Return != nil:
			return nil
		default:
			m.events = append(m.events, answer.event)
		}
	}
}

// await returns when the event name for a device has arrived.
func (m *monitor) await(name, device string) error {
	wanted := func(e event) bool { return e.Name == name && e.Data.Device == device }
	for !slices.ContainsFunc(m.events, wanted) {
		var e event
		if err := m.in.Decode(&e); err != nil {
			return fmt.Errorf("monitor: wait for %s of %s: %w", name, device, err)
		}
		m.events = append(m.events, e)
	}
	return nil
}
