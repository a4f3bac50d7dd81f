package mqtt

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/eclipse/paho.golang/packets"
	"github.com/google/uuid"
	"github.com/rollcall-dev/rollcall/channels"
)

const (
	// maxAnswer is how many bytes of the broker are read.
	maxAnswer = 64 << 10
	// keepAlive is longer than a message may take, in seconds, so no ping is due.
	keepAlive = 60
	// packetID identifies the only message of the connection.
	packetID = 1
)

// errNotMQTT means that nothing in MQTT came back.
var errNotMQTT = errors.New("the broker does not answer in MQTT 5")

// publish connects, publishes one message and waits for its acknowledgement (MQTT 5.0, sections 3.1 to 3.4).
func publish(conn io.ReadWriter, settings map[string]string, topic string, payload []byte) error {
	retain := settings["retain"] == "yes"
	broker := bufio.NewReader(io.LimitReader(conn, maxAnswer))
	if _, err := connectPacket(settings).WriteTo(conn); err != nil {
		return err
	}
	answer, err := read(broker)
	if err != nil {
		return fmt.Errorf("%w: %v", errNotMQTT, err) // also if the time is over: the cause is likely to be the port
	}
	accepted, isConnack := answer.Content.(*packets.Connack)
	switch {
	case !isConnack:
		return errNotMQTT
	case accepted.ReasonCode != packets.ConnackSuccess:
		return refusal("connection", accepted.ReasonCode, accepted.Reason(), accepted.Properties)
	case accepted.Properties.MaximumQOS != nil && *accepted.Properties.MaximumQOS < 1:
		return errors.New("the broker does not acknowledge messages (QoS 1)")
	case retain && accepted.Properties.RetainAvailable != nil && *accepted.Properties.RetainAvailable == 0:
		return errors.New("the broker does not retain messages")
	}
	if _, err := publishPacket(topic, payload, retain).WriteTo(conn); err != nil {
		return err
	}
	if err := acknowledged(broker, retain); err != nil {
		return err
	}
	// The message is delivered even if the broker does not see the end of the connection.
	_, _ = packets.NewControlPacket(packets.DISCONNECT).WriteTo(conn)
	return nil
}

// read reads a packet. It checks the length first, for which package packets allocates memory.
func read(broker *bufio.Reader) (*packets.ControlPacket, error) {
	for size := 2; size <= 5; size++ { // a byte for the type, and up to four for the length
		header, err := broker.Peek(size)
		if err != nil {
			return nil, err
		}
		length, n := binary.Uvarint(header[1:])
		switch {
		case n > 0 && length > maxAnswer:
			return nil, errors.New("the packet is too long")
		case n > 0:
			return packets.ReadPacket(broker)
		}
	}
	return nil, errors.New("the packet is malformed")
}

// acknowledged reads until the message is acknowledged.
func acknowledged(broker *bufio.Reader, retain bool) error {
	for {
		answer, err := read(broker)
		if err != nil {
			return fmt.Errorf("the broker does not acknowledge the message: %w", err)
		}
		switch p := answer.Content.(type) {
		case *packets.Disconnect:
			return refusal("connection", p.ReasonCode, p.Reason(), p.Properties)
		case *packets.Puback:
			switch {
			case p.PacketID != packetID:
				return errors.New("the broker acknowledges another message")
			case p.ReasonCode == packets.PubackSuccess:
				return nil
			case p.ReasonCode == packets.PubackNoMatchingSubscribers && retain:
				return nil
			case p.ReasonCode == packets.PubackNoMatchingSubscribers:
				return errors.New("nobody has subscribed to the topic")
			}
			err := refusal("message", p.ReasonCode, p.Reason(), p.Properties)
			if p.ReasonCode == packets.PubackTopicNameInvalid {
				return channels.Permanent(err)
			}
			return err
		}
	}
}

// refusal returns the error of a reason code, with the text of the broker if it sent one.
func refusal(what string, code byte, reason string, p *packets.Properties) error {
	if p != nil && p.ReasonString != "" {
		reason = p.ReasonString
	}
	reason, _, _ = strings.Cut(reason, " - ")
	return fmt.Errorf("the broker refuses the %s: %#02x %s", what, code, reason)
}

func connectPacket(settings map[string]string) *packets.ControlPacket {
	p := packets.NewControlPacket(packets.CONNECT)
	c := p.Content.(*packets.Connect)
	// Connections with the same ID would end each other.
	c.ClientID = "rollcall-" + strings.ReplaceAll(uuid.NewString(), "-", "")[:12]
	c.CleanStart, c.KeepAlive = true, keepAlive
	maximum := uint32(maxAnswer)
	c.Properties.MaximumPacketSize = &maximum
	if settings["username"] != "" {
		c.UsernameFlag, c.Username = true, settings["username"]
	}
	if settings["password"] != "" {
		c.PasswordFlag, c.Password = true, []byte(settings["password"])
	}
	return p
}

func publishPacket(topic string, payload []byte, retain bool) *packets.ControlPacket {
	p := packets.NewControlPacket(packets.PUBLISH)
	text := byte(1) // the payload is UTF-8
	m := p.Content.(*packets.Publish)
	m.Topic, m.Payload, m.QoS, m.Retain, m.PacketID = topic, payload, 1, retain, packetID
	m.Properties.PayloadFormat = &text
	return p
}
