/** A small document of version 3.0 with references, a schema that contains itself, and every place for arguments. */
const pet = { $ref: "#/components/schemas/Pet" };
export const petShop = {
  openapi: "3.0.3",
  servers: [{ url: "/relative" }],
  paths: {
    "/pets": {
      get: {
        operationId: "list-pets",
        summary: "Lists pets.",
        parameters: [
          { name: "tags", in: "query", schema: { type: "array", items: { type: "string" } } },
          { name: "ids", in: "query", explode: false, schema: { type: "array" } },
          { name: "filter", in: "query", style: "deepObject", schema: { type: "object" } },
          {
            name: "X-Trace-Id",
            in: "header",
            description: "to find it",
            schema: { type: "string" },
          },
          { name: "X-Api-Key", in: "header", schema: { type: "string" } },
          { name: "Host", in: "header", schema: { type: "string" } },
        ],
        responses: {
          "200": { content: { "application/json": { schema: { type: "array", items: pet } } } },
        },
      },
      post: {
        operationId: "createPet",
        requestBody: { required: true, content: { "application/json": { schema: pet } } },
        responses: { "201": { description: "the new pet" } },
      },
    },
    "/pets/{id}": {
      parameters: [{ $ref: "#/components/parameters/Id" }],
      get: { operationId: "getPet" },
      head: {},
      put: {
        operationId: "putPet",
        requestBody: {
          required: true,
          content: { "application/json": { schema: { properties: { id: {}, name: {} } } } },
        },
      },
      delete: { operationId: "deletePet" },
    },
    "/upload": {
      post: { requestBody: { required: true, content: { "image/png": {} } } },
    },
  },
  components: {
    parameters: { Id: { name: "id", in: "path", required: true, schema: { type: "string" } } },
    schemas: {
      Pet: {
        allOf: [
          { $ref: "#/components/schemas/Named" },
          {
            type: "object",
            properties: {
              age: { type: "integer", nullable: true, minimum: 0, exclusiveMinimum: true },
              mother: { $ref: "#/components/schemas/Pet" },
              created: { type: "string", readOnly: true },
            },
          },
        ],
      },
      Named: { type: "object", required: ["name"], properties: { name: { type: "string" } } },
    },
  },
};
