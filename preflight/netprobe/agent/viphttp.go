package agent

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
)

// A load balancer that terminates TLS may read HTTP. So the message to the agents behind it is in the
// path of a request.

const (
	maxHTTP  = 4096 // bytes of a request or an answer
	httpPath = "/netprobe/"
	httpHost = "netprobe"
)

func httpRequest(message []byte) string {
	return fmt.Sprintf("GET %s%x HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", httpPath, message, httpHost)
}

// httpMessage is the message in the first line of a request; nil without one.
func httpMessage(r *bufio.Reader) []byte {
	line, err := r.ReadSlice('\n') // at most the buffer
	if err != nil {
		return nil
	}
	fields := strings.Fields(string(line))
	if len(fields) < 2 {
		return nil
	}
	message, err := hex.DecodeString(strings.TrimPrefix(fields[1], httpPath))
	if err != nil {
		return nil
	}
	return message
}

// httpReply is the answer of an agent.
func httpReply(message []byte) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%x", 2*len(message), message)
}

// httpAnswer is the message in an answer; nil without one.
func httpAnswer(answer []byte) []byte {
	_, body, found := bytes.Cut(answer, []byte("\r\n\r\n"))
	if !found {
		return nil
	}
	message, err := hex.DecodeString(string(bytes.TrimSpace(body)))
	if err != nil {
		return nil
	}
	return message
}
