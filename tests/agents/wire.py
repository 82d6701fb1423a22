"""The model protocols that agents speak, as far as the tests need them: Anthropic's Messages, OpenAI's Responses and Chat
Completions, Google's generateContent.

A protocol is a class with three functions. `digest(body)` gives the conversation as (marker texts, turn, results, tools); a
result is {"id", "is_error", "text"} as the agent sent it. `stream(body, step)` gives the events of an answer as (name, data);
`whole(body, step)` the same as one object. A step is {"text": ..., "calls": [{"name", "input", "ns"?, "custom"?}], "usage"?}.
`error(status, message)` is the body of a failure.
"""
import json

SEQUENCE = iter(range(1, 1 << 30))


def new_id(kind):
    return "%s_%06d" % (kind, next(SEQUENCE))


def usage_of(step):
    """Tokens of a step: those that were not cached, those that were, those that came out."""
    told = step.get("usage", {})
    return told.get("in", 100), told.get("cached", 0), told.get("out", 20)


def text_of(content):
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return json.dumps(content)
    return "\n".join(part if isinstance(part, str) else part.get("text") or text_of(part.get("content") or "")
                     for part in content or [])


class Anthropic:
    @staticmethod
    def digest(body):
        users, results, turn = [], [], 0
        for message in body.get("messages", []):
            if message["role"] == "assistant":
                turn += 1
                continue
            content = message["content"]
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
            for part in parts:
                if part["type"] == "text":
                    users.append(part["text"])
                elif part["type"] == "tool_result":
                    results.append({"id": part["tool_use_id"], "is_error": part.get("is_error", False),
                                    "text": text_of(part.get("content") or "")})
        return users, turn, results, [t.get("name") for t in body.get("tools", [])]

    @staticmethod
    def _content(step):
        content = [{"type": "text", "text": step["text"]}] if step.get("text") else []
        return content + [{"type": "tool_use", "id": new_id("toolu"), "name": call["name"], "input": call["input"]}
                          for call in step.get("calls", [])]

    @staticmethod
    def _message(body, step):
        fresh, cached, out = usage_of(step)
        return {"id": new_id("msg"), "type": "message", "role": "assistant", "model": body.get("model"),
                "content": [], "stop_reason": None, "stop_sequence": None,
                "usage": {"input_tokens": fresh, "output_tokens": out, "cache_creation_input_tokens": 0,
                          "cache_read_input_tokens": cached}}

    @staticmethod
    def error(status, message):
        kinds = {429: "rate_limit_error", 529: "overloaded_error", 401: "authentication_error"}
        return {"type": "error", "error": {"type": kinds.get(status, "api_error"), "message": message}}

    @staticmethod
    def whole(body, step):
        return dict(Anthropic._message(body, step), content=Anthropic._content(step),
                    stop_reason="tool_use" if step.get("calls") else "end_turn")

    @staticmethod
    def stream(body, step):
        message = Anthropic._message(body, step)
        events = [{"type": "message_start", "message": message}]
        for index, block in enumerate(Anthropic._content(step)):
            empty, delta = (dict(block, text=""), {"type": "text_delta", "text": block["text"]}) \
                if block["type"] == "text" else \
                (dict(block, input={}), {"type": "input_json_delta", "partial_json": json.dumps(block["input"])})
            events += [{"type": "content_block_start", "index": index, "content_block": empty},
                       {"type": "content_block_delta", "index": index, "delta": delta},
                       {"type": "content_block_stop", "index": index}]
        stop = "tool_use" if step.get("calls") else "end_turn"
        events += [{"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None},
                    "usage": {"output_tokens": usage_of(step)[2]}}, {"type": "message_stop"}]
        return [(e["type"], e) for e in events]


class Responses:
    @staticmethod
    def digest(body):
        users, results, turn, was_agent = [], [], 0, False
        for item in body.get("input", []):
            kind = item.get("type", "message")
            is_agent = item.get("role") == "assistant" or kind in ("function_call", "custom_tool_call", "reasoning")
            if kind.endswith("_output"):
                results.append({"id": item.get("call_id"), "is_error": False, "text": text_of(item.get("output") or "")})
            elif not is_agent:
                text = text_of(item.get("content") or "")
                # A subagent may be given its parent's history; its own task is the last one named, and turns count from there.
                if "@@" in text:
                    turn = 0
                    results = []
                users.append(text)
            elif not was_agent:
                turn += 1
            was_agent = is_agent
        tools = []
        for tool in body.get("tools", []):
            inner = [t.get("name") for t in tool.get("tools", [])]
            tools.append("%s/%s" % (tool.get("name"), ",".join(inner)) if inner else tool.get("name") or tool.get("type"))
        return list(reversed(users)), turn, results, tools

    @staticmethod
    def _items(step):
        items = []
        if step.get("text"):
            items.append({"type": "message", "id": new_id("msg"), "role": "assistant", "status": "completed",
                          "content": [{"type": "output_text", "text": step["text"], "annotations": []}]})
        for call in step.get("calls", []):
            item = {"id": new_id("fc"), "call_id": new_id("call"), "name": call["name"], "status": "completed"}
            if call.get("ns"):
                item["namespace"] = call["ns"]
            item.update({"type": "custom_tool_call", "input": call["input"]} if call.get("custom")
                        else {"type": "function_call", "arguments": json.dumps(call["input"])})
            items.append(item)
        return items

    @staticmethod
    def error(status, message):
        return {"error": {"message": message, "type": "rate_limit_exceeded" if status == 429 else "server_error", "code": None}}

    @staticmethod
    def whole(body, step):
        fresh, cached, out = usage_of(step)
        return {"id": new_id("resp"), "object": "response", "created_at": 1, "model": body.get("model"),
                "status": "completed", "output": Responses._items(step),
                "usage": {"input_tokens": fresh + cached, "input_tokens_details": {"cached_tokens": cached}, "output_tokens": out,
                          "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": fresh + cached + out}}

    @staticmethod
    def stream(body, step):
        done = Responses.whole(body, step)
        events = [{"type": "response.created", "response": dict(done, status="in_progress", output=[])}]
        for index, item in enumerate(done["output"]):
            events.append({"type": "response.output_item.added", "output_index": index,
                           "item": dict(item, status="in_progress")})
            if item["type"] == "message":
                events.append({"type": "response.output_text.delta", "item_id": item["id"], "output_index": index,
                               "content_index": 0, "delta": step["text"]})
            events.append({"type": "response.output_item.done", "output_index": index, "item": item})
        events.append({"type": "response.completed", "response": done})
        return [(e["type"], dict(e, sequence_number=n)) for n, e in enumerate(events)]


class Chat:
    @staticmethod
    def digest(body):
        users, results, turn = [], [], 0
        for message in body.get("messages", []):
            if message["role"] == "assistant":
                turn += 1
            elif message["role"] == "user":
                users.append(text_of(message.get("content") or ""))
            elif message["role"] == "tool":
                results.append({"id": message["tool_call_id"], "is_error": False,
                                "text": text_of(message.get("content") or "")})
        return users, turn, results, [t["function"]["name"] for t in body.get("tools", [])]

    @staticmethod
    def _calls(step):
        return [{"index": n, "id": new_id("call"), "type": "function",
                 "function": {"name": call["name"], "arguments": json.dumps(call["input"])}}
                for n, call in enumerate(step.get("calls", []))]

    error = Responses.error

    @staticmethod
    def _usage(step):
        fresh, cached, out = usage_of(step)
        return {"prompt_tokens": fresh + cached, "completion_tokens": out, "total_tokens": fresh + cached + out,
                "prompt_tokens_details": {"cached_tokens": cached}}

    @staticmethod
    def whole(body, step):
        calls = Chat._calls(step)
        message = {"role": "assistant", "content": step.get("text")}
        if calls:
            message["tool_calls"] = calls
        return {"id": new_id("cc"), "object": "chat.completion", "created": 1, "model": body.get("model"),
                "choices": [{"index": 0, "finish_reason": "tool_calls" if calls else "stop", "message": message}],
                "usage": Chat._usage(step)}

    @staticmethod
    def stream(body, step):
        name, calls = new_id("cc"), Chat._calls(step)

        def chunk(delta, finish=None, **more):
            return None, dict({"id": name, "object": "chat.completion.chunk", "created": 1, "model": body.get("model"),
                               "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}, **more)
        chunks = [chunk({"role": "assistant", "content": step.get("text") or ""})]
        chunks += [chunk({"tool_calls": [call]}) for call in calls]
        chunks.append(chunk({}, "tool_calls" if calls else "stop", usage=Chat._usage(step)))
        return chunks + [(None, "[DONE]")]


class Gemini:
    @staticmethod
    def digest(body):
        users, results, turn = [], [], 0
        for content in body.get("contents", []):
            if content.get("role") == "model":
                turn += 1
                continue
            for part in content.get("parts", []):
                if part.get("text"):
                    users.append(part["text"])
                if part.get("functionResponse"):
                    answer = part["functionResponse"]
                    results.append({"id": answer.get("id"), "is_error": "error" in (answer.get("response") or {}),
                                    "text": json.dumps(answer.get("response"))})
        tools = [f.get("name") for t in body.get("tools", []) for f in t.get("functionDeclarations", [])]
        return users, turn, results, tools

    @staticmethod
    def error(status, message):
        names = {429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}
        return {"error": {"code": status, "message": message, "status": names.get(status, "INTERNAL")}}

    @staticmethod
    def whole(body, step):
        fresh, cached, out = usage_of(step)
        parts = [{"text": step["text"]}] if step.get("text") else []
        parts += [{"functionCall": {"id": new_id("fc"), "name": call["name"], "args": call["input"]}}
                  for call in step.get("calls", [])]
        config = body.get("generationConfig", {})
        if config.get("responseMimeType") == "application/json" or config.get("responseJsonSchema"):
            parts = [{"text": json.dumps({"reasoning": "none", "model_choice": "flash", "complexity_score": 1,
                                          "complexity_reasoning": "none"})}]
        return {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
                "usageMetadata": {"promptTokenCount": fresh + cached, "cachedContentTokenCount": cached,
                                  "candidatesTokenCount": out, "totalTokenCount": fresh + cached + out},
                "modelVersion": "test"}

    @staticmethod
    def stream(body, step):
        return [(None, Gemini.whole(body, step))]


def protocol_of(path, body):
    """The protocol of a request, and whether it wants a stream; None for anything that is not asked of a model."""
    if path.endswith("/responses"):
        return Responses, body.get("stream", False)
    if path.endswith("/chat/completions"):
        return Chat, body.get("stream", False)
    if path.endswith("/messages"):
        return Anthropic, body.get("stream", False)
    if path.endswith(":generateContent") or path.endswith(":streamGenerateContent"):
        return Gemini, ":stream" in path
    return None, False
